"""A work queue off the event loop: bounded in threads, in waiting requests and in time, with cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Event, Lock
from typing import TypeVar

from watersmeet.core.errors import WatersmeetError

T = TypeVar("T")


class Busy(WatersmeetError):
    """The queue is full."""


class TooSlow(WatersmeetError):
    """The timeout for an answer has passed."""


class Work:
    """A bounded thread pool. Work whose client has gone is not started, or is told to stop if it was."""

    def __init__(self, workers: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="watersmeet-work")
        self._capacity = workers + waiting
        self._seconds = seconds
        self._lock = Lock()
        self.under_way = 0

    async def run(self, work: Callable[[Event], T], seconds: float | None = None) -> T:
        """Run `work`; the event it gets is set when its result is no longer needed."""
        seconds = self._seconds if seconds is None else seconds
        stop = Event()
        with self._lock:
            if self.under_way >= self._capacity:
                raise Busy(f"the server is busy with {self.under_way} requests", "try again in a moment")
            self.under_way += 1
        task = self._pool.submit(copy_context().run, work, stop)  # with who acts
        task.add_done_callback(self._finished)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(task)
        except TimeoutError:
            raise TooSlow(f"timeout: no answer within {seconds:g} s", "ask for less, or raise serve.seconds") from None
        finally:
            stop.set()

    def _finished(self, _: object) -> None:
        with self._lock:
            self.under_way -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
