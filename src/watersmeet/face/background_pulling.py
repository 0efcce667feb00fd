"""Pulling of a server: a thread that keeps its index up to date with the shared database of the registry."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING

from watersmeet.core.errors import DatabaseProblem, WatersmeetError
from watersmeet.engine.engine import Engine

if TYPE_CHECKING:
    from watersmeet.core.registry_records import SharedRecords

EMBED_SECONDS = 2.0
"""How long a pull waits for the deep model; the remaining vectors are made later."""
SHUTDOWN_SECONDS = 5.0


class BackgroundPulling:
    """The thread. The server process starts it, if records are in a shared database, and `close` ends it."""

    def __init__(self, engine: Engine, say: Callable[[str], None]) -> None:
        self._engine, self._say = engine, say
        self._stop = Event()
        self._thread: Thread | None = None
        self._problem = ""
        self._published: object = None

    def start(self) -> None:
        from watersmeet.engine.settings.settings import LOCAL_RECORDS

        if self._thread is not None or self._engine.settings.section("registry").records == LOCAL_RECORDS:
            return
        from watersmeet.engine.registry.shared_records import shared_records
        from watersmeet.engine.sync.watching import may_watch

        reason = may_watch(self._engine)
        if reason:
            self._say(f"the database of the registry is not followed: {reason}")
            return
        shared = shared_records(self._engine.settings)
        self._thread = Thread(target=self._run, args=(shared,), name="watersmeet-pull", daemon=True)
        self._thread.start()

    def _run(self, shared: SharedRecords) -> None:
        while not self._stop.is_set():
            try:
                self._pull()
            except Exception as error:  # noqa: BLE001 - a face's boundary: the server goes on without it
                from watersmeet.face.crash_log import log_server_crash

                self._say(f"the database of the registry is no longer followed: {log_server_crash(error)}")
                return
            try:
                shared.wait(shared.poll_seconds, self._stop)
            except DatabaseProblem:
                self._stop.wait(shared.poll_seconds)  # the next pull names it

    def _pull(self) -> None:
        """Pull once. An outage is told once; `status` and the answers name it as long as it lasts."""
        from watersmeet.engine.registry.pull import pull

        problem, version = "", self._version()
        try:
            pull(self._engine, seconds=EMBED_SECONDS, publishing=version != self._published)
            self._published = version
        except WatersmeetError as error:
            problem = str(error)
        if problem != self._problem:
            self._say(problem or "the database of the registry answers again")
        self._problem = problem

    def _version(self) -> object:
        try:
            with self._engine.snapshot() as snapshot:
                return snapshot.version
        except WatersmeetError:
            return None

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(SHUTDOWN_SECONDS)
