"""Watching of a server: a thread that keeps its index up to date with the folders in it.

It is independent of `--allow-write`, which is about clients: what is written is what the folders contain.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from watersmeet.engine.engine import Engine
from watersmeet.engine.index.tiers import TIERS

if TYPE_CHECKING:
    from watersmeet.engine.sync.watching import Watcher

SHUTDOWN_SECONDS = 5.0
"""How long shutdown waits for a batch to end; a lost batch is synced again later."""


class BackgroundWatching:
    """The thread. The server process starts it, and `close` ends it."""

    def __init__(self, engine: Engine, say: Callable[[str], None]) -> None:
        self._engine = engine
        self._say = say
        self._stop = Event()
        self._thread: Thread | None = None
        self._watcher: Watcher | None = None
        self._reason = ""

    def start(self) -> None:
        """Start it, unless the index is not this user's to write."""
        from watersmeet.engine.sync.watching import Watcher, may_watch

        self._reason = may_watch(self._engine)
        if self._thread is not None or self._reason:
            return
        self._watcher = Watcher(self._engine, say=self._say, tiers=TIERS[:1], by_owner=False)  # others: background.py
        self._engine.staleness.watcher = self._watcher.stale
        self._thread = Thread(target=self._run, args=(self._watcher,), name="watersmeet-watch", daemon=True)
        self._thread.start()

    def _run(self, watcher: Watcher) -> None:
        try:
            watcher.run(self._stop)
        except Exception as error:  # noqa: BLE001 - a face's boundary: the server goes on without it
            from watersmeet.face.crash_log import log_server_crash

            watcher.state = "off"
            watcher.problem = f"unexpected: {type(error).__name__}. {log_server_crash(error)}"
            self._say(f"changes are no longer noticed: {watcher.problem}")

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(SHUTDOWN_SECONDS)

    def is_current(self) -> bool:
        """Whether all changes so far are synced."""
        return self._watcher is not None and self._watcher.stale() == 0

    def status(self, with_paths: bool) -> dict[str, Any]:
        """State, folders, time of the last sync and problem; without paths for other users."""
        found = (
            self._watcher.status()
            if self._watcher
            else {"state": "off", "folders": [], "last_sync": None, "problem": self._reason}
        )
        return found if with_paths else {"state": found["state"], "last_sync": found["last_sync"]}
