"""Whether the indexed folders have changed since the last sync: a look with a limit on its time, beside a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from threading import Lock, Thread
from typing import TYPE_CHECKING

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.index import Index
from watersmeet.engine.components import build
from watersmeet.engine.settings.settings import Settings, WatchSettings

if TYPE_CHECKING:
    from watersmeet.core.writing import Root

REST_SECONDS = 1.0
"""A count is used again for so long, by a process that searches often,"""
REST_FACTOR = 20.0
"""... and for at least so many times as long as it took."""
MAX_PARTS = 32
"""How many counts there are at once for viewers from whom some roots are hidden."""
WAIT_SECONDS = 0.2
"""How long an answer waits for a count that is not there yet: a file system may hang."""


class Staleness:
    """The number of files that changed. `start` begins to count in a thread, `count` waits for it."""

    def __init__(self, index: Index, settings: Settings, without: frozenset[str] = frozenset()) -> None:
        """`without`: places of roots that are not counted."""
        self._without = without
        self._parts: dict[frozenset[str], Staleness] = {}
        self._index = index
        self._settings = settings
        self._options: WatchSettings = settings.section("watch")
        self._lock = Lock()
        self._thread: Thread | None = None
        self._count: int | None = None
        self._next = 0.0
        self.watcher: Callable[[], int | None] = lambda: None
        """The number that a watcher of these folders knows without looking; None if it does not know."""

    def beside(self, hidden: frozenset[str]) -> Staleness:
        """The count for those from whom some roots are hidden."""
        if not hidden:
            return self
        with self._lock:
            if len(self._parts) >= MAX_PARTS:
                self._parts.clear()
            part = self._parts.setdefault(hidden, Staleness(self._index, self._settings, hidden))
        part.watcher = self.watcher
        return part

    def start(self) -> None:
        if not self._options.stale or self._index.remote or not hasattr(self._index, "known_roots"):
            return
        with self._lock:
            if self._thread is None and time.monotonic() >= self._next and self.watcher() is None:
                self._thread = Thread(target=self._look, name="watersmeet-stale", daemon=True)
                self._thread.start()

    def count(self) -> int | None:
        """The number; None if nobody looked, or it took too long."""
        known = self.watcher()
        if known is not None:
            return known
        with self._lock:  # another thread may be about to start it
            thread = self._thread
        if thread is not None:
            thread.join(WAIT_SECONDS)
            return None if thread.is_alive() else self._count
        return self._count

    def _look(self) -> None:
        start = time.monotonic()
        try:
            found = count_stale(self._index, self._settings, self._options.stale_ms / 1000, self._without)
        except (WatersmeetError, OSError):  # the search reports what is wrong with the index
            found = None
        now = time.monotonic()
        with self._lock:
            self._count, self._thread = found, None
            self._next = now + max(REST_SECONDS, REST_FACTOR * (now - start))


def count_stale(index: Index, settings: Settings, seconds: float, without: Collection[str] = frozenset()) -> int | None:
    """Number of files below the folders of an index that were added, changed or deleted since they were synced.

    None if that takes more than so many seconds of processor time, if the index was synced with other settings, and
    for an index without folders."""
    from watersmeet.engine.sync.scan_record import is_watchable, reading_settings, scan_record

    total: int | None = None
    roots: list[Root] = []

    def wanted(root: Root) -> bool:
        roots.append(root)
        return is_watchable(root) and root.path not in without

    known = index.known_roots(wanted)
    end = time.thread_time() + seconds  # what was done before is loading of modules, mostly
    for state in known.values():
        record = scan_record(state.facts, state.root)
        if record is None or record.unread is None or record.settings != reading_settings(settings):
            return None
        source = build(
            "source",
            state.root.kind,
            settings.of("source", state.root.kind),
            endings=record.endings,
            names=frozenset(record.names),
            sizes=record.sizes,
        )
        stamps = {name: file.stamp for name, file in state.files.items()}
        others = {root.path for root in roots if root.id != state.root.id}
        found = source.count_changes(state.root.path, stamps, {*record.unread}, others, end - time.thread_time())
        if found is None:
            return None
        total = (total or 0) + found
    return total
