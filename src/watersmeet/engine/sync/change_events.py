"""Changes below folders as the system reports them, collected until it is quiet for a moment.

An event is only a hint where to sync: a renamed folder gives no events for its files, and events can be lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from threading import Condition, Event, Thread

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.system import is_within, slashed, trimmed

GROUP_MS, STEP_MS, TIMEOUT_MS = 400, 50, 250
"""How long events are grouped at most, the pause that ends a group, and how often a listener looks up."""
MAX_PATHS = 2000
"""Paths of one root that are told apart; with more, all of the root is synced, and once more later."""
JOIN_SECONDS = 2.0

Changes = Collection[tuple[int, str]]
"""A group of events: kind and path."""


class NoEvents(WatersmeetError):
    """The system cannot report changes of these folders."""


class Listener:
    """Threads that receive events. Watching has begun once it is made; a folder that is missing raises `OSError`."""

    def __init__(
        self, folders: Sequence[str], files: Sequence[str], changed: Callable[[Collection[str]], None]
    ) -> None:
        """`files` are watched by their folders: most programs replace a file when they save it."""
        self._changed = changed
        self._stop = Event()
        self._threads: list[Thread] = []
        self.failed = False
        parents = sorted({os.path.dirname(file) for file in files})
        try:
            for paths, recursive in ((folders, True), (parents, False)):
                if paths:
                    self._start(paths, recursive)
        except BaseException:
            self.close()
            raise

    def _start(self, paths: Sequence[str], recursive: bool) -> None:
        try:
            first, events = self._events(paths, recursive)
        except PermissionError:  # go on without what may not be read: that would also hide the limit on watches
            first, events = self._events(paths, recursive, ignore_permission_denied=True)
        self._changed([path for _, path in first])

        def listen() -> None:
            try:
                for group in events:
                    if group:
                        self._changed([path for _, path in group])
            except (OSError, RuntimeError):
                self.failed = True

        thread = Thread(target=listen, name="watersmeet-events", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _events(
        self, paths: Sequence[str], recursive: bool, ignore_permission_denied: bool = False
    ) -> tuple[Changes, Iterator[Changes]]:
        """Start to watch; returns the first events, which may be none, and the further ones."""
        from watchfiles import watch

        events = watch(
            *paths,
            watch_filter=None,
            debounce=GROUP_MS,
            step=STEP_MS,
            rust_timeout=TIMEOUT_MS,
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=False,
            force_polling=False,
            recursive=recursive,
            ignore_permission_denied=ignore_permission_denied,
        )
        try:
            return next(events), events
        except (FileNotFoundError, PermissionError):
            raise
        except (OSError, RuntimeError, StopIteration) as error:  # too many watches, no inotify
            raise NoEvents(str(error).partition(" about ")[0]) from error

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)


class Pending:
    """Changed paths by root that are not synced yet; None for all of a root. Threads share it."""

    def __init__(self, quiet: float, longest: float) -> None:
        self._quiet, self._longest = quiet, longest
        self._condition = Condition()
        self._paths: dict[str, set[str] | None] = {}
        self._first = self._last = 0.0
        self.overflowed = False
        """Whether there were so many that some may have been lost."""

    def add(self, paths: Mapping[str, Collection[str] | None]) -> None:
        """Add changed paths by root."""
        now = time.monotonic()
        with self._condition:
            self._first = self._first if self._paths else now
            self._last = now
            for root, changed in paths.items():
                known = self._paths.setdefault(root, set())
                if changed is None or known is None:
                    self._paths[root] = None
                elif len(known) + len(changed) > MAX_PATHS:
                    self._paths[root], self.overflowed = None, True
                else:
                    known.update(changed)
            self._condition.notify_all()

    def take(self) -> dict[str, set[str] | None]:
        with self._condition:
            taken, self._paths = self._paths, {}
        return taken

    def __bool__(self) -> bool:
        return bool(self._paths)

    def due(self) -> bool:
        """Whether it has been quiet for long enough, or the first change is too long ago."""
        now = time.monotonic()
        with self._condition:
            return bool(self._paths) and (now >= self._last + self._quiet or now >= self._first + self._longest)

    def wait(self, seconds: float) -> None:
        """Wait for a change, or until one is due."""
        with self._condition:
            if self._paths:
                now = time.monotonic()
                due = min(self._last + self._quiet, self._first + self._longest)
                seconds = max(0.0, min(seconds, due - now))
            self._condition.wait(seconds)


def owner_of(path: str, roots: Collection[str]) -> str:
    """The innermost root that a path is in; empty if in none."""
    around = [root for root in roots if is_within(path, root)]
    return max(around, key=len, default="")


def part_of(root: str, paths: Collection[str] | None) -> str:
    """The innermost folder of a root that holds all these paths, below the root and with a slash at the end.

    Empty for all of the root. Folders that no longer exist are no part: their parents are."""
    if not paths or not os.path.isdir(root):
        return ""
    folder = os.path.commonpath([path if os.path.isdir(path) else os.path.dirname(path) for path in paths])
    while not os.path.isdir(folder) and is_within(folder, root):
        folder = os.path.dirname(folder)
    name = slashed(folder[len(trimmed(root)) + 1 :]) if is_within(folder, root) else ""
    return f"{name}/" if name else ""
