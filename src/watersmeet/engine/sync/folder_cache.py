"""Syncs before a search: of the index of `--in`, which is only a cache of its folder, and of the folders of others."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.errors import IndexBusy, IndexDamaged, IndexMismatch
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.report import Progress, ProgressCallback, SyncReport

LOCK = "folder"
"""Name of the lock of the process that syncs: others search what it has committed so far, and do not wait for it."""
RETRY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Indexing:
    """How far a sync is: `done` of `files` can be searched; without `files`, they are not counted yet."""

    done: int = 0
    files: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"done": self.done, "files": self.files}

    @property
    def note(self) -> str:
        if self.files is None:
            return "the folder is being indexed, this is what is there so far; ask again for the rest"
        return f"{self.done:,} of {self.files:,} files are indexed so far; ask again for the rest"


@dataclass(slots=True)
class IndexingProgress:
    """A progress callback that keeps the last state, beside another callback."""

    callback: ProgressCallback = lambda _: None
    state: Indexing = field(default_factory=Indexing)
    step: Progress | None = None

    def __call__(self, step: Progress) -> None:
        if step.unit == "files":
            self.step, self.state = step, Indexing(step.before + step.done, step.before + step.total)
        self.callback(step)


def sync_folder_cache(
    engine: Engine, path: str, progress: ProgressCallback | None = None, seconds: float = math.inf
) -> SyncReport:
    """Sync the words of a folder into its cached index; one that this version cannot use is recreated silently.

    After `seconds` the rest is left to the next call. `IndexBusy` at once if another process is at it."""
    with engine.index.alone(LOCK):
        try:
            return engine.sync([path], vectors=False, seconds=seconds, progress=progress)
        except (IndexDamaged, IndexMismatch):
            return engine.sync([path], vectors=False, recreate=True, seconds=seconds, progress=progress)


def sync_for_search(engine: Engine, path: str, seconds: float, progress: ProgressCallback) -> Indexing | None:
    """Sync a folder before a search, for at most `seconds`: its words, and static vectors if half of the time is left
    then. Returns how far it is, unless all words are there.

    While another process syncs it, wait for that one; if it takes too long, raise `IndexBusy`."""
    end = time.monotonic() + seconds
    tracker = IndexingProgress(progress)
    while True:
        try:
            report = sync_folder_cache(engine, path, tracker, max(0.0, end - time.monotonic()))
            break
        except IndexBusy:
            if time.monotonic() + RETRY_SECONDS > end:
                raise
            time.sleep(RETRY_SECONDS)
    if report.left:
        return tracker.state
    left = end - time.monotonic()
    if left > seconds / 2:
        engine.deepen(progress, left, deep=False)
    return None


def sync_after_search(engine: Engine, path: str, seconds: float, progress: ProgressCallback) -> None:
    """Go on after the answer, for about `seconds`: the words of the rest, then static vectors, then deep ones. A model
    is loaded only while half of the time is left."""
    end = time.monotonic() + seconds
    if sync_folder_cache(engine, path, progress, seconds).left:
        return
    for deep in (False, True):
        left = end - time.monotonic()
        if left > seconds / 2:
            engine.deepen(progress, left, deep=deep)


def sync_folders(engine: Engine, progress: ProgressCallback | None = None) -> SyncReport:
    """Sync the folders of an index, and no network: words and static vectors."""
    from watersmeet.engine.sync.roots import sync_parts
    from watersmeet.engine.sync.scan_record import is_watchable, roots_of

    progress = progress or (lambda _: None)
    folders = {root.path: "" for root in roots_of(engine.index) if is_watchable(root)}
    if not folders:
        return SyncReport()
    report = sync_parts(engine.index, engine.settings, folders, progress)
    embedded = engine.deepen(progress, deep=False)
    report.embedded, report.cached = embedded.embedded, embedded.cached
    report.warnings += embedded.warnings
    return report
