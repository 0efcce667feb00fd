"""Exports: an index as a folder that runs alone, written beside the one before and then put in its place."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any

from watersmeet import __version__
from watersmeet.core.errors import ConfigError, IndexProblem
from watersmeet.core.files import replace_file
from watersmeet.core.index import CopiedIndex
from watersmeet.core.locks import passing_lock, writable
from watersmeet.core.system import is_within, sync_folder
from watersmeet.engine.export.manifest import (
    CONTENT,
    INDEX,
    LOCK,
    READABLE_FILE,
    Manifest,
    claim,
    write_manifest,
)
from watersmeet.engine.export.requirements import MODEL, OWN, Requirements, make_requirements
from watersmeet.engine.export.settings import export_settings, portable_tiers
from watersmeet.engine.index.query_encoder import recorded
from watersmeet.engine.index.state_names import CALIBRATION, LANGUAGES
from watersmeet.engine.index.vocabulary import refresh as refresh_vocabulary
from watersmeet.engine.settings.settings import FILE

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

TEMPLATE = os.path.join(os.path.dirname(__file__), "template")
"""Files that every export of a version has, and that run any export of this format."""
EXECUTABLE = frozenset({"run.py"})
READABLE_FOLDER = 0o755
LOCK_SECONDS = 10.0
STAGING = ".new-"
"""Prefix of a content folder that is being written."""
DENSE = "dense"
LICENSE_NAMES = ("LICENSE", "NOTICE")


@dataclass(slots=True)
class ExportReport:
    """What was exported, and what was left out."""

    folder: str
    documents: int = 0
    chunks: int = 0
    tiers: list[str] = field(default_factory=list)
    wheels: int = 0
    size_bytes: int = 0
    replaced: bool = False
    warnings: list[str] = field(default_factory=list)
    took_ms: float = 0.0

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "took_ms": round(self.took_ms, 1)}


def export(
    engine: Engine,
    folder: str,
    *,
    private: bool = False,
    wheels: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ExportReport:
    """Export an index to a folder. `private`: with private documents; `wheels`: with all packages, for a machine
    without a network. `progress` is called with each step."""
    start, folder = time.perf_counter(), os.path.abspath(folder)
    _check_place(engine, folder)
    with writable(folder):
        before = claim(folder)
        with passing_lock(os.path.join(folder, LOCK), LOCK_SECONDS):
            before = claim(folder)  # another export may have been finished meanwhile
            report = _write(engine, folder, before, private, wheels, progress)
    if any(is_within(os.path.realpath(folder), os.path.realpath(root)) for root in engine.index.root_places()):
        report.warnings.append("the export lies in a folder that is indexed: the next sync reads it, too")
    report.took_ms = (time.perf_counter() - start) * 1000
    return report


def _check_place(engine: Engine, folder: str) -> None:
    if not hasattr(engine.index, "copy_to"):
        raise IndexProblem(
            f"{engine.folder} cannot be copied", "export an index that is a folder, on the machine that has it"
        )
    if is_within(os.path.realpath(folder), os.path.realpath(engine.folder)):
        raise ConfigError(f"{folder} is inside of the index", "name a folder elsewhere")


def _write(
    engine: Engine, folder: str, before: Manifest, private: bool, wheels: bool, progress: Callable[[str], None]
) -> ExportReport:
    name = f"content-{_next_number(folder, before)}"
    staging = os.path.join(folder, STAGING + name)
    _sweep(folder, before.content)
    os.makedirs(staging)
    report = ExportReport(folder, replaced=bool(before.content))
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        progress("copying the index")
        manifest = _write_index(engine, staging, name, private, report)
        progress("packing wheels" if wheels else "pinning requirements")
        required = make_requirements(os.path.join(staging, "wheels"), DENSE in report.tiers, wheels)
        _write_files(staging, required, DENSE in report.tiers)
        _make_readable(staging)
        os.rename(staging, os.path.join(folder, name))
        undo.pop_all()
    sync_folder(folder)
    for file in sorted(os.listdir(TEMPLATE)):
        _copy_template(file, folder)
    write_manifest(folder, Manifest(**{**manifest, "wheels": required.complete}))
    _sweep(folder, name)
    report.wheels, report.size_bytes = len(required.wheels), _size(folder)
    return report


def _next_number(folder: str, before: Manifest) -> int:
    """A number that no content has, not even one that a killed export left behind."""
    numbers = [int(name.partition("-")[2]) for name in os.listdir(folder) if CONTENT.fullmatch(name)]
    return 1 + max([before.number, *numbers])


def _sweep(folder: str, content: str) -> None:
    """Delete every content but this one, and what a killed export left behind. A server that has the old one open reads
    the manifest again."""
    for name in os.listdir(folder):
        if name != content and (CONTENT.fullmatch(name) or name.startswith(STAGING)):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)


def _write_index(engine: Engine, staging: str, name: str, private: bool, report: ExportReport) -> dict[str, Any]:
    """Copy the index and its settings; returns the values of the manifest."""
    from watersmeet.engine.engine import Engine

    with engine.snapshot() as snapshot:
        facts, tiers = snapshot.facts(), snapshot.tiers()
    report.tiers, foreign = portable_tiers(engine.settings, tiers)
    text, left_out = export_settings(engine.settings, report.tiers)
    _put(os.path.join(staging, FILE), text.encode())
    index: Any = engine.index
    copied: CopiedIndex = index.copy_to(os.path.join(staging, INDEX), report.tiers, private)
    _put_states(engine, os.path.join(staging, INDEX))
    with Engine(os.path.join(staging, INDEX), engine.settings) as copy:
        refresh_vocabulary(copy.index, engine.settings, measure=True)
        report.documents, report.chunks = copied.documents, copy.status()["chunks"]
        made: Any = copy.index
        made.freeze()
    report.warnings += _warnings(copied, foreign, left_out, bool(recorded(facts)))
    return {
        "content": name,
        "watersmeet": __version__,
        "python": _python(),
        "platform": sysconfig.get_platform(),
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "documents": report.documents,
        "chunks": report.chunks,
        "private": private,
        "tiers": {tier: tiers[tier].model for tier in report.tiers},
    }


def _put_states(engine: Engine, index: str) -> None:
    """The small values that change how the copy ranks: measured languages, and learned weights without what they were
    learned from."""
    from watersmeet.engine.calibration.state import load

    languages = engine.index.state(LANGUAGES).read()
    if languages is not None:
        _put(os.path.join(index, LANGUAGES), languages)
    state = engine.index.state(CALIBRATION)
    if state.version() is not None:
        learned = load(state)
        learned.evidence_hashes = []
        _put(os.path.join(index, CALIBRATION), json.dumps(learned.to_json()).encode())


def _warnings(copied: CopiedIndex, foreign: list[str], left_out: list[str], tuned: bool) -> list[str]:
    """What the export lacks, and why."""
    found = []
    if copied.private:
        found.append(f"{copied.private} private documents were left out; --private includes them")
    if copied.damaged:
        found.append(f"{copied.damaged} damaged documents were left out; `watersmeet sync` repairs them")
    if copied.entities:
        found.append(f"{copied.entities} entries of the registry were left out: an export has documents only")
    if foreign:
        found.append(f"no {', '.join(foreign)} vectors: their model is not part of watersmeet, so ranks may differ")
    if left_out:
        found.append(f"settings that were left out, since an export may not set them: {', '.join(left_out)}")
    if tuned:
        found.append("the tuned encoder of queries stays here, so ranks may differ")
    return found


def _write_files(staging: str, required: Requirements, with_model: bool) -> None:
    """The requirements and the licences."""
    _put(os.path.join(staging, "requirements.txt"), required.text.encode())
    for name in (OWN, *([MODEL] if with_model else [])):
        folder = os.path.join(staging, "licenses", name)
        os.makedirs(folder)
        for file in distribution(name).files or ():
            if file.name.startswith(LICENSE_NAMES):
                shutil.copyfile(str(file.locate()), os.path.join(folder, file.name))
    embed = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "embed", "potion")
    folder = os.path.join(staging, "licenses", "potion-base-8M")
    os.makedirs(folder)
    for file_name in LICENSE_NAMES:
        shutil.copyfile(os.path.join(embed, file_name), os.path.join(folder, file_name))


def _copy_template(name: str, folder: str) -> None:
    path = os.path.join(TEMPLATE, name)
    if os.path.isfile(path) and name != "__init__.py":
        with open(path, "rb") as file:
            content = file.read().replace(b"{python}", _python().encode())
        replace_file(os.path.join(folder, name), content, 0o755 if name in EXECUTABLE else READABLE_FILE)


def _python() -> str:
    """The Python version that the requirements are for."""
    return ".".join(map(str, sys.version_info[:2]))


def _put(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)


def _make_readable(folder: str) -> None:
    """Make the files readable by whoever gets them, and durable before the manifest names them."""
    for place, _, names in os.walk(folder):
        os.chmod(place, READABLE_FOLDER)
        for name in names:
            path = os.path.join(place, name)
            os.chmod(path, READABLE_FILE)
            with open(path, "rb") as file:
                os.fsync(file.fileno())
        sync_folder(place)


def _size(folder: str) -> int:
    """The size of an export, without the environment that its server makes."""
    total = 0
    for place, folders, names in os.walk(folder):
        if place == folder:
            folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            with suppress(OSError):
                total += os.path.getsize(os.path.join(place, name))
    return total
