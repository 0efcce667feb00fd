"""The index of a dataset: built once in the user's cache folder, and reused until something changes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import watersmeet
from watersmeet.core.errors import IndexDamaged, IndexMismatch, NoIndex, SourceProblem
from watersmeet.core.files import replace_file
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.fingerprint import fingerprint
from watersmeet.engine.index.location import find_index, open_index
from watersmeet.engine.index.tiers import SPARSE
from watersmeet.engine.query.modes import VECTORS, needs_vectors
from watersmeet.engine.settings.settings import Settings, cache_folder, merge
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.evaluate.data import Dataset

MARK = "dataset.json"
"""A marker file, written when the index is complete; without it the next run continues."""


@dataclass(frozen=True, slots=True)
class Indexed:
    folder: str
    documents: int
    warnings: tuple[str, ...] = ()


def indexed(
    dataset: Dataset, settings: Settings, mode: str, progress: ProgressCallback, fresh: bool = False
) -> Indexed:
    """The dataset's index for these settings, built by the same engine as every other index.

    Vectors are made only if the mode and the recipe use them; a later run adds them if it needs them.
    """
    if dataset.corpus is None:
        raise SourceProblem(f"{dataset.name} has no corpus", "name an index with --index")
    folder = cached(dataset.name, dataset.corpus, settings)
    try:
        return _ready(dataset.corpus, folder, settings, mode, progress, fresh)
    except (IndexDamaged, IndexMismatch):  # it is only a cache
        return _ready(dataset.corpus, folder, settings, mode, progress, fresh=True)


def _ready(
    corpus: Path, folder: Path, settings: Settings, mode: str, progress: ProgressCallback, fresh: bool
) -> Indexed:
    mark = folder / MARK
    if mark.exists() and not fresh:
        facts = json.loads(mark.read_text("utf8"))
    else:
        facts = _make(corpus, folder, settings, progress, fresh)
        replace_file(str(mark), json.dumps(facts).encode())
    skipped = facts["skipped"]
    warnings = [f"{len(skipped)} records were not indexed, the first: {skipped[0]}"] if skipped else []
    signals = [mode] if mode in VECTORS else settings.section("pipeline").signals
    vector_signals = [name for name in signals if name in VECTORS]
    if vector_signals and needs_vectors(mode) and settings.section("index").vectors:
        warnings += _embed(folder, settings, vector_signals, progress)
    return Indexed(str(folder), facts["documents"], tuple(warnings))


def cached(name: str, corpus: Path, settings: Settings) -> Path:
    """The folder of the index, named by a hash of the content and of the settings that shape it."""
    state = hashlib.blake2b(digest_size=8)
    state.update(
        json.dumps(
            [watersmeet.__version__, fingerprint(settings, open_index("", settings).format)], sort_keys=True
        ).encode()
    )
    with corpus.open("rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    safe = re.sub(r"[^\w.-]+", "-", name)[:60] or "dataset"
    return Path(cache_folder()) / "eval" / f"{safe}-{state.hexdigest()}"


def is_index(folder: str) -> bool:
    try:
        return bool(find_index(folder))
    except NoIndex:
        return False


def _make(corpus: Path, folder: Path, settings: Settings, progress: ProgressCallback, fresh: bool) -> dict[str, Any]:
    words = replace(settings, tables=merge(settings.tables, {"index": {"vectors": False}}))
    with Engine(folder, words) as engine:
        if is_index(str(folder)) and not fresh:
            others = [root for root in engine.status()["roots"] if root != os.path.realpath(corpus)]
            if others:
                engine.remove(others)
        report = engine.sync([corpus], recreate=fresh, progress=progress)
    if not report.documents:
        raise SourceProblem(f"no record of {corpus} could be indexed", _reason(report.to_json()))
    skipped = [f"{item.path}: {item.reason}" for item in report.skipped]
    return {"documents": report.documents, "chunks": report.chunks, "skipped": skipped}


def _embed(folder: Path, settings: Settings, vector_signals: list[str], progress: ProgressCallback) -> list[str]:
    """Make the missing vectors; returns warnings on those that could not be made."""
    with Engine(folder, settings) as engine:
        signals = engine.status()["signals"]
        if all(
            signals.get(name, {}).get("coverage", 0.0) >= 1.0 and (name == SPARSE or signals[name].get("level"))
            for name in vector_signals
        ):
            return []
        warnings = engine.deepen(progress).warnings
        warnings += engine.deepen(progress, tiers=(SPARSE,)).warnings if SPARSE in vector_signals else []
        return list(dict.fromkeys(item.reason for item in warnings))


def _reason(report: dict[str, Any]) -> str:
    first = next(iter(report["skipped"]), None)
    return first["reason"] if first else "it is empty"
