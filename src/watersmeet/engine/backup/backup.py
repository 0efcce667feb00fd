"""Backup of an index into one file, and the index again from that file."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from watersmeet.core import vocabulary
from watersmeet.core.errors import ConfigError, IndexMismatch, IndexProblem
from watersmeet.core.files import private
from watersmeet.core.index import BackedUp, BackupPart, ReadableIndex
from watersmeet.core.locks import passing_lock, writable
from watersmeet.core.system import replace_path, sync_folder
from watersmeet.engine.backup.archive import HEADER, Archive, Header, write
from watersmeet.engine.index.location import LOCAL
from watersmeet.engine.index.state_names import (
    CALIBRATION,
    EMBED_FIRST,
    LANGUAGES,
    LAST_EVALUATION,
    OPENED_RESULTS,
    RECORD_VERSIONS,
)

if TYPE_CHECKING:
    from watersmeet.engine.settings.settings import Settings

STATES = (
    *(CALIBRATION, OPENED_RESULTS, LANGUAGES, EMBED_FIRST, LAST_EVALUATION, RECORD_VERSIONS),
    *(f"{name}.{kind}" for name in (vocabulary.PUBLIC, vocabulary.PRIVATE) for kind in ("json", "npy")),
)
"""Named states that a backup has: all but those of the last half hour."""
STATE = "state/"
PLACES = {LOCAL: ", a folder", "postgresql": ": --index postgresql://HOST/DATABASE?index=NAME"}
"""Where to restore a backup, by its store."""
LOCK_SECONDS = 1.0
Progress = Callable[[dict[str, Any]], None]
"""A callback for each part that was copied: its name as `part`, and the bytes so far as `done`."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    file: str
    size_bytes: int
    documents: int
    took_ms: float

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "took_ms": round(self.took_ms, 1)}


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was restored: the number of documents, where to, and when the backup was made."""

    documents: int
    index: str
    made: str
    took_ms: float

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "took_ms": round(self.took_ms, 1)}


def back_up(index: ReadableIndex, settings: Settings, file: str, progress: Progress = lambda _: None) -> BackupReport:
    """Write a consistent state of an index into a file, while others search and write it. A backup that fails or is
    killed leaves the file that was there."""
    start, file = time.perf_counter(), os.path.abspath(file)
    source, folder = _backed_up(index), os.path.dirname(file)
    _check_file(file)
    if not os.path.isdir(folder):
        raise ConfigError(f"there is no folder {folder}", "make it, or name a file elsewhere")
    partial = f"{file}.partial"
    with ExitStack() as undo, writable(folder), passing_lock(f"{partial}.lock", LOCK_SECONDS):
        with suppress(FileNotFoundError):
            os.unlink(partial)  # of a backup that was killed
        scratch = tempfile.mkdtemp(prefix=f".{os.path.basename(file)}-", dir=folder)
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        with open(partial, "xb", opener=private) as archive:
            undo.callback(_remove, partial)
            with source.back_up(scratch, settings.section("writer").lock_seconds) as state:
                parts = _with_states(index, state.parts)
                write(archive, Header(source.kind, state.documents), parts, _reported(progress))
            archive.flush()
            os.fsync(archive.fileno())
        size = os.path.getsize(partial)
        replace_path(partial, file)
        sync_folder(folder)
    return BackupReport(file, size, state.documents, (time.perf_counter() - start) * 1000)


def restore(
    index: ReadableIndex,
    settings: Settings,
    file: str,
    *,
    replace: bool = False,
    progress: Progress = lambda _: None,
) -> RestoreReport:
    """Make an index from a backup: all of it, or nothing. `replace`: in place of an index that exists."""
    start, target = time.perf_counter(), _backed_up(index)
    try:
        opened = open(file, "rb")  # noqa: SIM115 - closed by the block below
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}", "name a file that `watersmeet backup` wrote"
        ) from None
    with opened, ExitStack() as stack:
        archive = Archive(opened, _reported(progress))
        stack.callback(archive.close)
        wait = settings.section("writer").lock_seconds
        if archive.header.store == target.kind:
            documents = target.restore(archive.parts(), STATES, replace, wait)
        elif archive.header.store == LOCAL and hasattr(index, "receive"):
            documents = _moved(archive, index, settings, replace, progress)
        else:
            kind = str(archive.header.store)[:40]
            raise IndexMismatch(
                f"the backup is of a store called {kind!r}, and {index.place} is {target.kind!r}",
                f"restore it into an index of the same store{PLACES.get(kind, '')}",
            )
    return RestoreReport(documents, index.place, archive.header.made, (time.perf_counter() - start) * 1000)


def _moved(archive: Archive, index: Any, settings: Settings, replace: bool, progress: Progress) -> int:
    """Restore the backup of a folder into a temporary one, and move that into a store on servers."""
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.push import push_into

    if not replace and index.exists():
        raise ConfigError(f"there is an index in {index.place}", "restore it elsewhere with --index, or add --replace")
    wait = settings.section("writer").lock_seconds
    with tempfile.TemporaryDirectory(prefix="watersmeet-restore-") as scratch:
        place = os.path.join(scratch, "index")
        with Engine(place, settings) as whole:
            documents = _backed_up(whole.index).restore(archive.parts(), STATES, False, wait)
            push_into(whole, index, lambda step, done, of: progress({"part": step, "done": done, "unit": "chunks"}))
            for name in STATES:
                content = whole.index.state(name).read()
                with index.state(name).changing(wait) as state:
                    state.write(content)
    return documents


def _backed_up(index: ReadableIndex) -> BackedUp:
    if not hasattr(index, "back_up"):
        raise IndexProblem(f"{index.place} cannot be backed up by watersmeet", "use the backup of its own store")
    return cast(BackedUp, index)


def _with_states(index: ReadableIndex, parts: Iterator[BackupPart]) -> Iterator[BackupPart]:
    yield from parts
    for name in STATES:
        content = index.state(name).read()
        if content is not None:
            yield BackupPart(STATE + name, len(content), BytesIO(content))


def _reported(progress: Progress) -> Callable[[str, int], None]:
    return lambda part, done: progress({"part": part, "done": done, "unit": "bytes"})


def _check_file(file: str) -> None:
    """Raise rather than overwrite what is no backup."""
    if not os.path.lexists(file):
        return
    if not os.path.isfile(file) or os.path.islink(file):
        raise ConfigError(f"{file} is not a plain file", "name another file")
    with open(file, "rb") as before:
        if before.read(len(HEADER)) != HEADER.encode():
            raise ConfigError(f"{file} exists, and is not a backup", "name another file")


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):  # it has its name by now
        os.unlink(path)
