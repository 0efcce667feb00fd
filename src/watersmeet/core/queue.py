"""Interface of a queue of jobs: any number of workers take them, and each is done once.

A worker takes a job under a lease with a fence, a number that grows with every lease of any job. If the worker ends, is
stopped or cut off, the lease runs out and another takes the job; what the first one says after that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from watersmeet.core.writing import FileState, Put, Writer, WriterOptions

if TYPE_CHECKING:
    from watersmeet.core.index import Unseen
    from watersmeet.core.model import ChunkId


class Job(NamedTuple):
    """A job as a worker has it. `attempts`: how many times it was taken, this time included; `content`: what a worker
    must know besides its key."""

    kind: str
    key: str
    fence: int
    attempts: int
    content: str = ""


class Queue(Protocol):
    def offer(self, kind: str, key: str) -> bool:
        """Offer a job; False if it waits already. One that is being done is done once more after that: what it is about
        may have changed since it began."""
        ...

    def offer_all(self, kind: str, contents: Mapping[str, str]) -> None:
        """Offer new jobs with their contents, by key."""
        ...

    def withdraw(self, beginning: str) -> None:
        """Forget the jobs whose keys begin so, with their results. Whoever does one of them is refused from now on."""
        ...

    def withdraw_waiting(self, kind: str, beginning: str) -> None:
        """Forget those of the jobs that nobody does."""
        ...

    def take(self, kinds: Collection[str], seconds: float) -> Job | None:
        """The job that has waited longest, or whose lease has run out or whose worker has certainly ended, leased for
        so many seconds."""
        ...

    def renew(self, job: Job, seconds: float) -> None:
        """Go on for so many seconds; `LeaseLost` if another has taken the job."""
        ...

    def finish(self, job: Job) -> None:
        """The job is done; `LeaseLost` if another has taken it."""
        ...

    def results(self, beginning: str, known: Collection[str] = ()) -> dict[str, str]:
        """Results of the jobs whose keys begin so and that were finished with one, but for those that are known."""
        ...

    def give_back(self, job: Job, problem: str, seconds: float) -> None:
        """Another attempt after so many seconds; `LeaseLost` if another has taken the job."""
        ...

    def counts(self, kinds: Collection[str] | None = None) -> dict[str, int]:
        """Number of jobs, of these kinds, that are `waiting`, `running`, and among the waiting ones `failed` before."""
        ...


class JobWriter(Writer, Protocol):
    """A writer for one job. It has the lease of the index only for its transactions, each of which checks that the job
    is still its own, so that several work at a time. Its commit with `last` is the end of the job."""

    result: Callable[[Sequence[Put]], str]
    """What is noted as the result of the job in the transaction that ends it, given the documents that were refused."""

    def files_named(self, root: int, names: Collection[str], listed_under: int) -> dict[str, FileState]:
        """States of these files. `listed_under`: the fence of the writer that found out that they are to be read."""
        ...


class SharingWriter(Writer, Protocol):
    """A writer that lets workers write for it."""

    building: bool
    """Whether this generation of the index is not searched yet: others do not find it."""

    def listed_under(self, root: int) -> int:
        """The fence under which the files of a root were listed."""
        ...

    def resting(self) -> AbstractContextManager[None]:
        """Have no lease in the block, so that others write. After an exception it has none either."""
        ...


class Claims(Protocol):
    """Claims of one process on rows of a store of vectors: while they last, nobody else embeds these rows."""

    def window(self, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        """Claim rows without a vector that nobody has claimed: those in `first` before the others, above `after`."""
        ...

    def others(self) -> bool:
        """Whether others have claims."""
        ...


class HasJobs(Protocol):
    """An index with a queue."""

    def claims(self, store: Any) -> AbstractContextManager[Claims]:
        """Claims on rows of a store that `vector_store` has opened; in the block it takes only vectors of these."""
        ...

    def queue(self) -> Queue: ...
    def job_writer(
        self, options: WriterOptions, job: Job, giving: Collection[int]
    ) -> AbstractContextManager[JobWriter]:
        """`giving`: files whose documents other files of the same root may take over."""
        ...
