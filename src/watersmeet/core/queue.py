"""Interface of a queue of jobs: any number of workers take them, and each is done once.

A worker takes a job under a lease with a fence, a number that grows with every lease of any job. If the worker ends, is
stopped or cut off, the lease runs out and another takes the job; what the first one says after that is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol


class Job(NamedTuple):
    """A job as a worker has it. `attempts`: how many times it was taken, this time included."""

    kind: str
    key: str
    fence: int
    attempts: int


class Queue(Protocol):
    def offer(self, kind: str, key: str) -> bool:
        """Offer a job; False if it waits already. One that is being done is done once more after that: what it is about
        may have changed since it began."""
        ...

    def take(self, kinds: Collection[str], seconds: float) -> Job | None:
        """The job that has waited longest, or whose lease has run out, leased for so many seconds."""
        ...

    def renew(self, job: Job, seconds: float) -> None:
        """Go on for so many seconds; `LeaseLost` if another has taken the job."""
        ...

    def finish(self, job: Job) -> None:
        """The job is done; `LeaseLost` if another has taken it."""
        ...

    def give_back(self, job: Job, problem: str, seconds: float) -> None:
        """Another attempt after so many seconds; `LeaseLost` if another has taken the job."""
        ...

    def counts(self) -> dict[str, int]:
        """Number of jobs that are `waiting`, `running`, and among the waiting ones `failed` before."""
        ...
