"""Kinds of jobs, and the lease of a job while it is done: renewed in a thread, with a sign if it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from watersmeet.core.errors import LeaseLost, WatersmeetError
from watersmeet.core.queue import Job, Queue

SYNC, EMBED, TIDY = "sync", "embed", "tidy"
LEASE_SECONDS = 30.0
EMBEDDERS = 8
"""How many workers at most are asked to embed for a tier at a time."""
ROWS = 256
"""Rows without vectors for each of them, at least."""


def offer_embedding(queue: Queue, tier: str, left: int) -> None:
    """Ask workers to embed for a tier: each makes vectors of what it claims, for some seconds."""
    for number in range(min(EMBEDDERS, max(1, left // ROWS))):
        queue.offer(EMBED, f"{tier} {number + 1}")


def withdraw_embedding(queue: Queue, tier: str) -> None:
    """Nothing is left to embed."""
    queue.withdraw_waiting(EMBED, f"{tier} ")


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
