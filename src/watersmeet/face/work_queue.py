"""Work off the event loop: so much at once, so much waiting, so long, and no longer than anyone wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import TypeVar

from watersmeet.core.errors import Stopped, WatersmeetError
from watersmeet.engine.sync.report import Progress, ProgressCallback

T = TypeVar("T")


class Busy(WatersmeetError):
    """More is asked than can be answered now."""


class TooSlow(WatersmeetError):
    """An answer took longer than it may."""


def cancellable(stop: Event, progress: ProgressCallback = lambda _: None) -> ProgressCallback:
    """Tells on, and stops whoever tells once nobody waits for it any more."""

    def told(step: Progress) -> None:
        if stop.is_set():
            raise Stopped("nobody waits for it any more")
        progress(step)

    return told


class Work:
    """A bounded pool. What nobody waits for any more is not begun, and is told to stop if it was."""

    def __init__(self, workers: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="watersmeet-work")
        self._most = workers + waiting
        self._seconds = seconds
        self._lock = Lock()
        self.under_way = 0

    async def run(self, work: Callable[[Event], T], seconds: float | None = None) -> T:
        """`work` gets an event that is set when its result is not wanted any more."""
        seconds = self._seconds if seconds is None else seconds
        stop = Event()
        with self._lock:
            if self.under_way >= self._most:
                raise Busy(f"{self.under_way} questions are under way", "ask again in a moment")
            self.under_way += 1
        task = self._pool.submit(work, stop)
        task.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(task)
        except TimeoutError:
            raise TooSlow(f"no answer within {seconds:g} s", "ask for less, or raise serve.seconds") from None
        finally:
            stop.set()

    def _ended(self, _: object) -> None:
        with self._lock:
            self.under_way -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
