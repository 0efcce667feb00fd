"""Change stream of a replica set: a wait ends as soon as a collection changes, instead of after the whole pause.

It only says that something may have changed; what it was is found by comparing versions. So a lost event costs a pause,
never a change. A server that has no change streams is polled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

TICK_SECONDS = 0.25
RETRY_SECONDS = 60.0
"""How long a server without change streams is only polled."""
HISTORY_LOST = frozenset({136, 280, 286})
"""Codes of a resume token that the server no longer has: begin again without it."""


class ChangeStream:
    """The changes of some collections of a database, resumed after the last event that was received."""

    def __init__(self, database: Callable[[], Any], collections: Sequence[str]) -> None:
        self._database, self._collections = database, tuple(collections)
        self._stream: Any = None
        self._token: Any = None
        self._polled_until = 0.0

    def wait(self, seconds: float, stop: Event) -> None:
        """Wait for a change, for at most so long, or until `stop` is set."""
        from pymongo.errors import PyMongoError

        end = time.monotonic() + seconds
        while not stop.is_set() and (left := end - time.monotonic()) > 0:
            if not self._open():
                stop.wait(left)
                return
            try:
                event = self._stream.try_next()
                self._token = self._stream.resume_token or self._token
            except PyMongoError as error:
                self._lost(error)
                return  # events may be missing: look now
            if event is not None:
                self._drain()
                return
            stop.wait(min(TICK_SECONDS, left))

    def _drain(self) -> None:
        """Take the events that are there already: one look finds them all."""
        from pymongo.errors import PyMongoError

        try:
            while self._stream.try_next() is not None:
                pass
            self._token = self._stream.resume_token or self._token
        except PyMongoError as error:
            self._lost(error)

    def _open(self) -> bool:
        """Whether there is a stream; opened after the last received event."""
        from pymongo.errors import OperationFailure, PyMongoError

        if self._stream is not None:
            return True
        if time.monotonic() < self._polled_until:
            return False
        pipeline = [{"$match": {"ns.coll": {"$in": list(self._collections)}}}]
        try:
            self._stream = self._database().watch(pipeline, resume_after=self._token, max_await_time_ms=1)
        except OperationFailure as error:
            self._lost(error)
            self._polled_until = time.monotonic() + (0 if error.code in HISTORY_LOST else RETRY_SECONDS)
            return False
        except PyMongoError as error:
            self._lost(error)
            return False
        return True

    def _lost(self, error: Exception) -> None:
        if getattr(error, "code", None) in HISTORY_LOST:
            self._token = None
        self.close()

    def close(self) -> None:
        from contextlib import suppress

        stream, self._stream = self._stream, None
        if stream is not None:
            from pymongo.errors import PyMongoError

            with suppress(PyMongoError):
                stream.close()
