"""Workers: they take jobs of an index, each under a lease, and offer what follows.

Jobs: `sync` scans a root, `read` reads a slice of its files, `embed` makes missing vectors of a tier for some seconds,
`tidy` publishes statistics and buries dead rows. Doing one twice changes nothing, and what it commits is fenced by the
store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from socket import gethostname
from threading import Event
from typing import Any

from watersmeet.core.errors import ConfigError, LeaseLost, Stopped, WatersmeetError
from watersmeet.core.queue import Job, Queue
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.tiers import due
from watersmeet.engine.sync.deepen import facts_of
from watersmeet.engine.sync.formats import Formats
from watersmeet.engine.sync.jobs import EMBED, LEASE_SECONDS, SYNC, TIDY, leased, offer_embedding
from watersmeet.engine.sync.report import cancellable
from watersmeet.engine.sync.slices import read_slice, slice_kind
from watersmeet.engine.sync.sources import is_address

WINDOW_SECONDS = 20.0
"""How long a worker embeds before it lets others choose what is next."""
POLL_SECONDS = 1.0
RETRY_SECONDS = 5.0
MAX_RETRY_SECONDS = 600.0


def queue_of(engine: Engine) -> Queue:
    """The queue of an index; only one on servers has a queue."""
    if not hasattr(engine.index, "queue"):
        raise ConfigError(f"{engine.folder} has no queue of jobs", "a folder needs none: `watersmeet sync`, or watch")
    queue: Queue = engine.index.queue()
    return queue


def root_job(place: str) -> tuple[str, str]:
    """The job that reads a root: a folder is read on the machine that has it, an address by any worker."""
    return (SYNC, place) if is_address(place) else (f"{SYNC}@{gethostname()}", place)


@dataclass(frozen=True, slots=True)
class Done:
    """How a job ended; `problem` is empty if it is done."""

    job: Job
    problem: str
    took_ms: float

    def to_json(self) -> dict[str, Any]:
        ended = {"problem": self.problem} if self.problem else {}
        return {"job": self.job.kind, "key": self.job.key, **ended, "took_ms": round(self.took_ms, 1)}


class Worker:
    """One worker: it does one job at a time."""

    def __init__(
        self, engine: Engine, done: Callable[[Done], None] = lambda _: None, lease: float = LEASE_SECONDS
    ) -> None:
        self.engine, self.queue = engine, queue_of(engine)
        self._done, self._lease = done, lease
        self._slices = slice_kind(engine.settings, engine.index)
        self._kinds = (SYNC, f"{SYNC}@{gethostname()}", self._slices, EMBED, TIDY)

    def offer_all(self) -> None:
        """Offer everything that may be due: all roots, vectors, tidying."""
        for place in self.engine.index.root_places():
            if is_address(place) or os.path.exists(place):
                self.queue.offer(*root_job(place))
        self.offer_rest()

    def offer_rest(self) -> None:
        """Offer what follows a sync."""
        for tier, left in self._missing().items():
            offer_embedding(self.queue, tier, left)
        self.queue.offer(TIDY, "index")

    def _missing(self) -> dict[str, int]:
        """How many vectors the tiers lack."""
        if not self.engine.settings.section("index").vectors:
            return {}
        wanted = due(self.engine.settings, facts_of(self.engine.index))
        with self.engine.snapshot() as snapshot:
            tiers = snapshot.tiers()
            chunks = snapshot.statistics().chunks
            left = {tier: snapshot.left(tiers[tier]) if tier in tiers else chunks for tier in wanted}
        return {tier: count for tier, count in left.items() if count}

    def run(self, stop: Event, until_empty: bool = False) -> int:
        """Do jobs until `stop` is set, or with `until_empty` until none is left; returns how many were done."""
        count = 0
        while not stop.is_set():
            job = self.queue.take(self._kinds, self._lease)
            if job is not None:
                count += self._do(job, stop)
            elif until_empty and not any(self.queue.counts(self._kinds)[name] for name in ("waiting", "running")):
                break
            else:
                stop.wait(POLL_SECONDS)
        return count

    def _do(self, job: Job, stop: Event) -> bool:
        start = time.perf_counter()
        problem = ""
        with leased(self.queue, job, self._lease, stop) as over:
            try:
                if job.kind == self._slices:  # its commit is its end
                    self._read(job, over)
                else:
                    self._work(job, over)
                    self.queue.finish(job)
            except LeaseLost as lost:
                problem = str(lost)
            except (WatersmeetError, OSError) as error:
                problem = str(error)
                pause = (
                    0.0
                    if isinstance(error, Stopped)
                    else min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** (job.attempts - 1))
                )
                with suppress(LeaseLost):
                    self.queue.give_back(job, problem, pause)
        self._done(Done(job, problem, (time.perf_counter() - start) * 1000))
        return not problem

    def _read(self, job: Job, over: Event) -> None:
        with Formats(self.engine.settings) as formats:
            read_slice(self.engine.index, self.engine.settings, formats, job, over)

    def _work(self, job: Job, over: Event) -> None:
        progress = cancellable(over, lambda _: None)
        if job.kind.partition("@")[0] == SYNC:
            self.engine.sync([job.key], vectors=False, now=True, progress=progress)
            self.offer_rest()
        elif job.kind == EMBED:
            tier = job.key.partition(" ")[0]
            made = self.engine.deepen(progress, WINDOW_SECONDS, tiers=(tier,), strict=True, wait=False)
            if (made.embedded or made.cached) and tier in self._missing():
                self.queue.offer(EMBED, job.key)  # it is done once more
        else:
            from watersmeet.engine.index.writer import open_for_writing

            with open_for_writing(self.engine.index, self.engine.settings) as writer:
                writer.compact()
