"""The lease of a job while it is done: renewed in a thread, and a sign for the work if it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from watersmeet.core.errors import LeaseLost, WatersmeetError
from watersmeet.core.queue import Job, Queue

LEASE_SECONDS = 30.0


@contextmanager
def leased(queue: Queue, job: Job, seconds: float, stop: Event | None = None) -> Iterator[Event]:
    """Renew the lease until the block ends; the event is set if it is lost, or `stop` is set."""
    over, ended = Event(), Event()

    def renew() -> None:
        while not ended.wait(min(0.5, seconds / 4)):
            if stop is not None and stop.is_set():
                over.set()
            with suppress(WatersmeetError):
                try:
                    queue.renew(job, seconds)
                except LeaseLost:
                    over.set()
                    return

    thread = Thread(target=renew, name="watersmeet-work", daemon=True)
    thread.start()
    try:
        yield over
    finally:
        ended.set()
        thread.join()
