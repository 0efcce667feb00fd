"""A writer for one job: what is slow goes on beside other writers, and only the transactions take turns.

Each transaction checks the fence of the job besides that of the writer's lease, so a worker that lost its job commits
nothing. The last one also ends the job: it is done once, with what it has written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import NoIndex
from watersmeet.core.queue import Job
from watersmeet.core.writing import Changes, FileState, Put
from watersmeet.store.postgres import queue
from watersmeet.store.postgres.catalogue import files_in
from watersmeet.store.postgres.leases import WRITER
from watersmeet.store.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from watersmeet.core.writing import WriterOptions
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.index import Opened
    from watersmeet.store.postgres.pool import Db

RESERVED_SECONDS = 600.0
"""How long rows stay reserved for a job that may have been lost."""


class PostgresJobWriter(PostgresWriter):
    """Without a lease between its transactions."""

    reserved_seconds = RESERVED_SECONDS

    def __init__(
        self, opened: Opened, generation: Generation, db: Db, wait: float, job: Job, giving: Collection[int]
    ) -> None:
        super().__init__(generation, db, opened.place, opened.leases, None, 0.0, wait)
        self._job, self.giving = job, frozenset(giving)
        self.result: Callable[[Sequence[Put]], str] = lambda refused: ""

    def files_named(self, root: int, names: Collection[str], listed_under: int) -> dict[str, FileState]:
        self._fence_of_listing[root] = listed_under
        with self.generation.writing.errors():
            return files_in(self.db, root, names)

    def take_turns(self) -> None:
        """It has the lease only for its transactions."""

    @contextmanager
    def transaction(self) -> Iterator[Db]:
        with super().transaction() as db:
            queue.check(db, self._job)
            yield db

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        with self.generation.writing.errors():
            while True:
                basis = self._basis()
                given = replace(changes, put=self.stamped(changes.put))
                versions = self._versions(given)
                first = self._points(versions)
                try:
                    with self._leases.held(WRITER, max(self._wait, 600.0)) as self.lease:
                        if self._basis() == basis:  # else again, from what it is now
                            return self._apply(given, versions, first, self._end if last else _go_on)
                    self._give_back(first)
                except BaseException:
                    self._give_back(first)
                    raise
                finally:
                    self.lease = None

    def _basis(self) -> Any:
        """What points are made from, besides the documents: who may see collections, and how words are weighed."""
        head = self.db.execute("SELECT points, words, averages FROM head").fetchall()
        return head, [(root.id, root.path, root.collection) for root in self.roots()], self.collection_audiences()

    def _end(self, db: Db, refused: list[Put]) -> None:
        queue.finish(db, self._job, self.result(refused))


def _go_on(db: Db, refused: list[Put]) -> None:
    """The job has more to commit."""


@contextmanager
def open_job_writer(
    opened: Opened, options: WriterOptions, job: Job, giving: Collection[int]
) -> Iterator[PostgresJobWriter]:
    generation = opened.generation()
    with generation.writing.connection() as db:
        writer = PostgresJobWriter(opened, generation, db, options.lock_seconds, job, giving)
        facts = writer.meta()
        if "fingerprint" not in facts:
            raise NoIndex(f"there is no index in {opened.place} yet", "wait until the one who makes it has begun")
        options.check(facts)
        yield writer
