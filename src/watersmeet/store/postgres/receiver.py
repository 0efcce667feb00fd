"""A move into this store: a new generation, filled in batches, and named once it was checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, Tier
from watersmeet.core.model import ChunkId
from watersmeet.core.moving import Contents, Moved
from watersmeet.core.writing import Changes
from watersmeet.store.postgres import records
from watersmeet.store.postgres.generations import make_generation, name_generation
from watersmeet.store.postgres.leases import WRITER
from watersmeet.store.postgres.open_writer import MOVING, is_received
from watersmeet.store.postgres.vectors import note_vectors, packed, store_points
from watersmeet.store.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from watersmeet.store.postgres.index import Opened, Postgres

LAST = "moved_to"
"""Key of a fact: the number of the last acknowledged document."""


class PostgresReceiver:
    def __init__(self, index: Postgres, writer: PostgresWriter, identity: str) -> None:
        self._index, self._writer, self._identity = index, writer, identity
        facts = writer.meta()
        self._goes_on = facts.get(MOVING) == identity
        self.last = int(facts.get(LAST, "0"))
        self._tiers: dict[str, Tier] = {}
        self._roots: dict[int, int] = {}

    @property
    def generation(self) -> str:
        return str(self._writer.generation.number)

    @property
    def rows(self) -> int:
        return self._writer.counts()[1]

    def begin(self, contents: Contents) -> None:
        writer = self._writer
        self._tiers = dict(contents.tiers())
        ((points,),) = writer.db.execute("SELECT points FROM head").fetchall()
        if not self._goes_on:
            for name, metadata in contents.collections().items():
                writer.collection(name, metadata)
            numbers = {name: number for number, name in writer.collections().items()}
            for root, collection, _ in contents.roots():
                writer.add_root(root.path, root.name, numbers[collection], root.prefix, root.kind)
            left = (CURRENT_TIERS, NEXT_TIERS, "text_folder", "public_text", "next_row")
            facts = {key: value for key, value in contents.facts().items() if key not in left}
            built = json.loads(facts["fingerprint"]) | {"format": self._index.format}
            facts["fingerprint"] = json.dumps(built, sort_keys=True)
            writer.set_meta({**facts, CURRENT_TIERS: "{}", NEXT_TIERS: "{}", MOVING: self._identity, LAST: "0"})
        paths = {root.path: root.id for root in writer.roots()}
        self._roots = {root.id: paths[root.path] for root, *_ in contents.roots()}
        for tier in self._tiers.values():
            writer.generation.qdrant.make(f"{points}-{tier.folder}", tier.dimension, loading=True)

    def put(self, documents: Sequence[Moved], vectors: Mapping[str, Mapping[ChunkId, Any]]) -> None:
        """The documents, then their vectors, then the number of the last: a move that goes on may put them again."""
        writer, numbers = self._writer, {name: number for number, name in self._writer.collections().items()}
        changes = Changes()
        for one in documents:
            file = (self._roots[one.put.file[0]], one.put.file[1]) if one.put.file else None
            changes.put.append(replace(one.put, collection=numbers[one.collection], file=file))
        writer.commit(changes)
        ids = [chunk.chunk.id for put in changes.put for chunk in put.chunks]
        rows, payloads = self._rows(ids)
        ((points,),) = writer.db.execute("SELECT points FROM head").fetchall()
        for name, found in vectors.items():
            tier = self._tiers[name]
            kept = [(rows[chunk], packed(vector)) for chunk, vector in found.items() if chunk in rows]
            writer.generation.qdrant.put(f"{points}-{tier.folder}", store_points(kept, tier.dimension, payloads))
            with writer.transaction() as db:
                note_vectors(db, tier.folder, tier.dimension, kept)
        self.last = documents[-1].number
        writer.set_meta({LAST: str(self.last)})

    def _rows(self, ids: Sequence[ChunkId]) -> tuple[dict[ChunkId, int], dict[int, dict[str, Any]]]:
        from watersmeet.store.postgres.vectors import live_payloads

        found = self._writer.db.execute("SELECT id, row FROM chunks WHERE died IS NULL AND id = ANY(%s)", [list(ids)])
        rows = {ChunkId(chunk): int(row) for chunk, row in found}
        payloads = live_payloads(self._writer.db, rows.values())
        return rows, {row: payload for row, (_, payload) in payloads.items()}

    def finish(self) -> Postgres:
        """Words with the average lengths of all of them, graphs of the vectors, statistics, tiers."""
        writer = self._writer
        writer.rewrite()
        ((points,),) = writer.db.execute("SELECT points FROM head").fetchall()
        for tier in self._tiers.values():
            writer.generation.qdrant.index(f"{points}-{tier.folder}")
        writer.set_meta({CURRENT_TIERS: json.dumps({name: asdict(tier) for name, tier in self._tiers.items()})})
        return self._index.pinned(writer.generation.number)

    def name(self, contents: Contents) -> None:
        writer = self._writer
        with writer.transaction() as db:
            for root, _, files in contents.roots():
                for file in files.values():
                    db.execute(
                        "INSERT INTO files (root, name, stamp, hash, seen) VALUES (%s, %s, %s, %s, %s) ON CONFLICT"
                        " (root, name) DO UPDATE SET stamp = excluded.stamp, hash = excluded.hash,"
                        " seen = excluded.seen",
                        [self._roots[root.id], file.name, file.stamp, file.hash, file.read_ns],
                    )
                db.execute("UPDATE roots SET cursor = %s WHERE id = %s", [root.cursor, self._roots[root.id]])
            name_generation(db, writer.generation.name, writer.generation.number)
            records.take_over(db, contents.records())  # after that, so that the generation before has its own still
            db.execute("DELETE FROM facts WHERE key = ANY(%s)", [[MOVING, LAST]])
            writer.next_commit(db)
        writer.building = False


@contextmanager
def receive(index: Postgres, opened: Opened, identity: str, wait: float) -> Iterator[PostgresReceiver]:
    """A receiver that holds the writer's lease. What it has got is kept if the move is interrupted."""
    opened.make_lasting()
    with opened.leases.held(WRITER, wait) as lease, ExitStack() as stack:
        ((made,),) = opened.lasting.ask("SELECT made FROM index_head")
        current = opened.current()
        begun = [one for one in range(made, 0, -1) if one != current and is_received(opened, one, identity)]
        number = begun[0] if begun else make_generation(opened.lasting, opened.name)
        generation = opened.generation(number)
        db = stack.enter_context(generation.writing.connection())
        writer = PostgresWriter(generation, db, index.place, opened.leases, lease, index.epoch_share, wait)
        writer.building = True
        writer.reclaim()
        yield PostgresReceiver(index, writer, identity)
