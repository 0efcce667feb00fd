"""A writer: points first, then one transaction that checks the fence and makes their rows live."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexMismatch, LeaseLost, SourceProblem, WatersmeetError
from watersmeet.core.model import DocId
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.writing import Changes, Lease, Put, Root
from watersmeet.store.local._leases import AGAIN, RESERVED_SECONDS
from watersmeet.store.postgres import leases, records
from watersmeet.store.postgres.burial import bury_rows, remove_points
from watersmeet.store.postgres.catalogue import Catalogue, start_afresh, write_audience, write_facts
from watersmeet.store.postgres.changes import Commit, refused_of
from watersmeet.store.postgres.epochs import COUNTED, averages, publish
from watersmeet.store.postgres.leases import WRITER, without_fence
from watersmeet.store.postgres.points import make_words
from watersmeet.store.postgres.records import PostgresRecords
from watersmeet.store.postgres.vectors import store_points
from watersmeet.store.postgres.versions import (
    DocumentVersion,
    add_chunks,
    collected,
    dated,
    restricted,
    stored_versions,
    version_of,
)

if TYPE_CHECKING:
    from watersmeet.core.visibility import Audience
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.leases import Leases
    from watersmeet.store.postgres.pool import Db

DRIFT = 0.04
"""A change of the average length by which words are weighed anew: a fifth of the orders of ten differ from then on."""
GROWN = 1.0
"""While a writer goes on, statistics are published when so many rows have changed, as a share of those counted."""


class PostgresWriter(Catalogue):
    """A writer that holds the lease of its index, but for the turns of others."""

    reserved_seconds = RESERVED_SECONDS
    giving: Collection[int] | None = None
    """The files whose documents other files of their root may take over; None: of any, since nobody else writes."""

    def __init__(
        self,
        generation: Generation,
        db: Db,
        place: str,
        leases: Leases,
        lease: Lease | None,
        epoch_share: float,
        wait: float,
    ) -> None:
        super().__init__(generation, db, place)
        self.lease, self._leases, self._epoch_share, self._wait = lease, leases, epoch_share, wait
        self.covered = [root.path for root in self.roots()]
        self.mended = False
        self._terms: dict[tuple[int, str], int] = {}
        self._root_leases: list[Lease] = []
        self._leased: set[int] = set()

    @contextmanager
    def transaction(self) -> Iterator[Db]:
        with super().transaction() as db:
            for lease in self._root_leases:  # whoever lost one has an old list of what is missing
                leases.check(db, lease, self.place)
            yield db

    # ------------------------------------------------------------ the commit point

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        """All rows of a changed document are new; the vectors of a text that is the same come along."""
        with self.generation.writing.errors():
            changes = replace(changes, put=self.stamped(changes.put))
            versions = self._versions(changes)
            first = self._points(versions)
            try:
                refused = self._apply(changes, versions, first)
            except BaseException:
                self._give_back(first)
                raise
            if last and not self.building:
                self.publish(self._epoch_share)
        return refused

    def _versions(self, changes: Changes) -> list[tuple[DocumentVersion, Put | None]]:
        """The documents to be stored: those that were put, and those whose dates have changed."""
        names = self.collections()
        of_roots = {root.id: root.collection for root in self.roots()}
        found = []
        for put in changes.put:
            collection = of_roots.get(put.file[0], put.collection) if put.file else put.collection
            found.append((version_of(put, names.get(collection, "")), put))
        add_chunks(self.db, found, self._terms)
        dates = {name: when for name, *when in changes.dates}
        given = {one.name for one, _ in found}
        stored = stored_versions(self.db, [name for name in dates if name not in given]) if dates else {}
        redated = [
            (new, None)
            for name, one in stored.items()
            if (new := dated(one, *dates[DocId(name)])).modified != one.modified or new.fields != one.fields
        ]
        return [*found, *redated]

    def _points(self, versions: Sequence[tuple[DocumentVersion, Put | None]]) -> int | None:
        """Write the points of new rows, which nothing finds yet; returns the first of these rows."""
        chunks = [chunk for version, _ in versions for chunk in version.chunks]
        if not chunks:
            return None
        first = self._reserve(len(chunks))
        for row, chunk in enumerate(chunks, first):
            chunk.row = row
        self._take_over([version for version, _ in versions])
        ((points, words, pinned),) = self.db.execute("SELECT points, words, averages FROM head").fetchall()
        pinned = pinned or self._pin([version for version, _ in versions])
        payloads = {chunk.row: version.payload for version, _ in versions for chunk in version.chunks}
        qdrant = self.generation.qdrant
        self.renew()
        if not self.building:  # else all words are weighed at its end, with the lengths of all
            qdrant.make(f"{points}-{words}")
            qdrant.put(f"{points}-{words}", [chunk.point(pinned, payloads[chunk.row]) for chunk in chunks])
        before = {chunk.before: chunk for chunk in chunks if chunk.before is not None}
        for store, dimension in self.db.execute("SELECT name, dimension FROM stores").fetchall():
            sql = "SELECT row, vector FROM vectors WHERE store = %s AND row = ANY(%s)"
            kept = [(before[row], bytes(made)) for row, made in self.db.execute(sql, [store, list(before)])]
            if kept:
                given = [(chunk.row, made) for chunk, made in kept]
                qdrant.put(f"{points}-{store}", store_points(given, dimension, payloads))
            for chunk, _ in kept:
                chunk.stores.add(store)
        return first

    def _reserve(self, count: int) -> int:
        """Row numbers that nobody else gets, whatever becomes of this commit."""
        with self.transaction() as db:
            ((first,),) = db.execute(
                "UPDATE head SET next_row = next_row + %s RETURNING next_row - %s", [count, count]
            ).fetchall()
            db.execute(
                "INSERT INTO reserved VALUES (%s, %s, %s, clock_timestamp() + %s * interval '1 s', %s)",
                [first, count, self.lease.holder if self.lease else "", self.reserved_seconds, self.fence],
            )
        return int(first)

    def _take_over(self, versions: Sequence[DocumentVersion]) -> None:
        """Note for each new chunk the row of its document with the same text."""
        names = [name for version in versions for name in version.replaces]
        rows: dict[tuple[str, bytes], list[int]] = {}
        sql = (
            "SELECT d.name, c.hash, c.row FROM chunks c JOIN documents d ON d.key = c.document"
            " WHERE d.died IS NULL AND d.name = ANY(%s) ORDER BY c.row DESC"
        )
        for name, hash, row in self.db.execute(sql, [names]):
            rows.setdefault((name, bytes(hash)), []).append(row)
        for version in versions:
            for chunk in version.chunks:
                same = next((found for name in version.replaces if (found := rows.get((name, chunk.hash)))), None)
                if chunk.before is None and same:
                    chunk.before = same.pop()

    def _pin(self, versions: Sequence[DocumentVersion]) -> list[float]:
        """Average lengths of the first documents that everyone may see; corrected once the index has grown."""
        public = [chunk for one in versions if one.labels is None for chunk in one.chunks]
        chosen = public or [chunk for one in versions for chunk in one.chunks]
        return [sum(lengths) / len(chosen) for lengths in zip(*(chunk.lengths for chunk in chosen), strict=True)]

    def _apply(
        self,
        changes: Changes,
        versions: Sequence[tuple[DocumentVersion, Put | None]],
        first: int | None,
        also: Callable[[Db, list[Put]], None] = lambda db, refused: None,
    ) -> list[Put]:
        with self.transaction() as db:
            records.apply(db, changes.records)
            used = "DELETE FROM reserved WHERE first = %s"
            if first is not None and db.execute(used, [first]).rowcount != 1:
                raise LeaseLost(f"the rows that were reserved in {self.place} have been reclaimed meanwhile", AGAIN)
            self._check_roots(db, changes)
            commit = Commit(db, self.next_commit(db), self.fence)
            for root, found, hash, read_at in changes.files:
                since = self._fence_of_listing.get(root, self.fence)
                commit.note_file(root, found, hash, read_at, since)
            for document, places in changes.places:
                commit.place(document, places)
            refused = refused_of(db, [put for _, put in versions if put is not None], self.giving)
            kept = [one for one, put in versions if put is None or put.document.id not in refused]
            commit.swap(kept, changes.removed)
            rejected = [put for _, put in versions if put is not None and put.document.id in refused]
            for put in rejected:
                if put.file:
                    commit.read_again("root = %s AND name = %s", put.file)
            for file in changes.stale:
                commit.read_again("id = %s", [file])
            db.execute("DELETE FROM files WHERE id = ANY(%s)", [changes.forgotten])
            for root, cursor in changes.cursors.items():
                db.execute("UPDATE roots SET cursor = %s WHERE id = %s", [cursor, root])
            write_facts(db, changes.facts)
            self._settle(db, [one for one, _ in versions])
            also(db, rejected)
        self._bury_refused([one for one, put in versions if put is not None and put.document.id in refused])
        return rejected

    def _check_roots(self, db: Db, changes: Changes) -> None:
        wanted = {root for root, *_ in changes.files} | {put.file[0] for put in changes.put if put.file} | self._leased
        found = {root for (root,) in db.execute("SELECT id FROM roots WHERE id = ANY(%s)", [list(wanted)])}
        if wanted - found:
            raise SourceProblem(
                "what is being read was taken out of the index meanwhile", "sync it again if it belongs there"
            )

    def _settle(self, db: Db, versions: Sequence[DocumentVersion]) -> None:
        """Pin the average lengths with the first rows, and publish statistics once the index has doubled."""
        ((pinned, changed, counted),) = db.execute(f"SELECT averages, changed, ({COUNTED}) FROM head").fetchall()
        if not pinned and any(one.chunks for one in versions):
            db.execute("UPDATE head SET averages = %s", [self._pin(versions)])
        if changed and changed >= GROWN * counted and not self.building:
            publish(db)

    def publish(self, share: float) -> bool:
        """Publish statistics if at least this share of the rows has changed since the last time."""
        with self.transaction() as db:
            ((changed, counted),) = db.execute(f"SELECT changed, ({COUNTED}) FROM head").fetchall()
            due = bool(changed) and changed >= share * counted
            if due:
                publish(db)
                self.next_commit(db)
        return due

    # ------------------------------------------------------------ rows that are not used

    def _give_back(self, first: int | None) -> None:
        """Remove the points of rows that did not become live. If this fails, the next writer does it."""
        if first is not None:
            with suppress(WatersmeetError):
                self.reclaim(first)

    def _bury_refused(self, versions: Sequence[DocumentVersion]) -> None:
        rows = [chunk.row for version in versions for chunk in version.chunks]
        if rows:
            with suppress(WatersmeetError):
                remove_points(self.generation, self.db, rows)

    def reclaim(self, first: int | None = None) -> None:
        """Remove the points of reserved rows that were never used: of one reservation, or of all that have run out, or
        whose writer has lost the lease."""
        which = "first = %s" if first is not None else "expires <= clock_timestamp() OR (fence <> 0 AND fence < %s)"
        value = self.fence if first is None else first
        sql = f"SELECT first, count FROM reserved WHERE {which}"
        for start, count in self.db.execute(sql, [value]).fetchall():
            with self.transaction() as db:  # first: whoever still has it is refused from now on
                db.execute("UPDATE reserved SET expires = clock_timestamp(), fence = -1 WHERE first = %s", [start])
            used = {
                row
                for (row,) in self.db.execute(
                    "SELECT row FROM chunks WHERE row >= %s AND row < %s", [start, start + count]
                )
            }
            remove_points(self.generation, self.db, [row for row in range(start, start + count) if row not in used])
            with self.transaction() as db:
                db.execute("DELETE FROM reserved WHERE first = %s", [start])

    def compact(self, grace: float, share: float) -> int:
        """Bury rows that died before the grace period, by PostgreSQL's clock, if they are at least this share."""
        if self.building:  # its end weighs all words, and nothing in it is old
            return 0
        if self.publish(self._epoch_share) and self._has_drifted():
            self.rewrite()
        ((dead, live),) = self.db.execute(
            "SELECT (SELECT count(*) FROM chunks WHERE died <= (SELECT coalesce(max(number), 0) FROM commits"
            " WHERE at <= clock_timestamp() - %s * interval '1 s')),"
            " (SELECT coalesce(sum(chunks), 0)::bigint FROM counts)",
            [grace],
        ).fetchall()
        if not dead or dead < share * (live + dead):
            return 0
        return bury_rows(self, grace)

    def _has_drifted(self) -> bool:
        """Whether the average length of texts is no longer the one that words were weighed with."""
        ((pinned,),) = self.db.execute("SELECT averages FROM head").fetchall()
        now = averages(self.db)
        return bool(pinned and now) and abs(now[0] - pinned[0]) > DRIFT * max(pinned[0], 1e-9)

    # ------------------------------------------------------------ turns

    def renew(self) -> None:
        if self.lease is not None:
            self._leases.renew(self.lease)
        for lease in self._root_leases:
            self._leases.renew(lease)

    def take_turns(self) -> None:
        self.renew()
        if self._leases.is_wanted(WRITER):
            with self._released():
                pass

    @contextmanager
    def _released(self) -> Iterator[None]:
        """Let others write meanwhile."""
        lease = self.lease
        assert lease is not None  # noqa: S101 - a writer has one
        self.lease = without_fence(lease)
        self._leases.give_turn(lease)
        yield
        self._take_again()

    @contextmanager
    def resting(self) -> Iterator[None]:
        lease = self.lease
        assert lease is not None  # noqa: S101 - a writer has one
        self.lease = without_fence(lease)
        self._leases.release(lease)
        yield
        self._take_again()

    def _take_again(self) -> None:
        self.lease = self._leases.take(WRITER, max(self._wait, 600.0))
        ((current,),) = self.db.execute("SELECT generation FROM index_head").fetchall()
        if current not in (0, self.generation.number) and not (self.building or self.beside):
            raise IndexMismatch(f"{self.place} was built anew meanwhile", "run the same command again")

    building = False
    """Whether this generation is empty so far and not named yet: its words are weighed at the end."""
    beside = False
    """Whether it is written beside the one that is searched."""

    @contextmanager
    def root_lease(self, root: Root) -> Iterator[None]:
        name = f"root-{root.id}"
        lease = self._leases.attempt(name)
        if lease is None:
            with self._released():
                lease = self._leases.take(name, self._wait)
        try:
            self._root_leases.append(lease)
            self._leased.add(root.id)
            if (root.id, root.path) not in [(one.id, one.path) for one in self.roots()]:
                raise SourceProblem(
                    f"{root.path} was taken out of the index meanwhile", "sync it again if it belongs there"
                )
            yield
        finally:
            self._leased.discard(root.id)
            self._root_leases.remove(lease)
            self._leases.release(lease)

    # ------------------------------------------------------------ others

    def records(self, stage: Callable[[RecordChange], None] | None = None) -> PostgresRecords:
        return PostgresRecords(self.db, stage or self._record)

    def _record(self, change: RecordChange) -> None:
        self.commit(Changes(records=[change]))

    def set_root_collection(self, root: int, collection: int) -> None:
        """The documents of the root get new rows, for the collection and who may see it are in their points."""
        name, audience = self.collections()[collection], self.collection_audiences().get(collection, ())
        sql = "SELECT d.name FROM documents d JOIN files f ON f.id = d.file WHERE f.root = %s AND d.died IS NULL"
        names = [one for (one,) in self._read(sql, [root])]

        def moved(db: Db, _: list[Put]) -> None:
            db.execute("UPDATE roots SET collection = %s WHERE id = %s", [collection, root])

        self._renew_documents(names, lambda one: restricted(collected(one, name), audience), moved)

    def set_audience(self, collection: int, audience: Audience) -> None:
        name = self.collections()[collection]
        sql = "SELECT d.name FROM documents d WHERE d.collection = %s AND d.died IS NULL"
        names = [one for (one,) in self._read(sql, [name])]

        def noted(db: Db, _: list[Put]) -> None:
            write_audience(db, name, audience)
            start_afresh(db)

        self._renew_documents(names, lambda one: restricted(one, audience), noted)

    def _renew_documents(
        self,
        names: Collection[str],
        changed: Callable[[DocumentVersion], DocumentVersion],
        also: Callable[[Db, list[Put]], None],
    ) -> None:
        """Store these documents again, changed, in one commit with what else is to be noted."""
        with self.generation.writing.errors():
            versions: list[tuple[DocumentVersion, Put | None]]
            versions = [(changed(one), None) for one in stored_versions(self.db, names).values()]
            first = self._points(versions)
            try:
                self._apply(Changes(), versions, first, also)
            except BaseException:
                self._give_back(first)
                raise
            self.publish(self._epoch_share)

    def rewrite(self) -> None:
        """Weigh all words anew, with today's average lengths, in a collection beside the one that is searched."""
        weighed = averages(self.db)
        ((points, words),) = self.db.execute("SELECT points, words FROM head").fetchall()
        name = f"words-{1 + int(words.partition('-')[2] or 1)}"
        make_words(self.generation, self.db, f"{points}-{name}", weighed, self.renew)
        with self.transaction() as db:
            db.execute("UPDATE head SET words = %s, averages = %s", [name, weighed])
            publish(db)
            self.next_commit(db)
        self.generation.qdrant.drop(f"{points}-{words}")
