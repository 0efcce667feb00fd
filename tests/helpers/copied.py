"""An index in a folder as documents and vectors, to fill another one with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from watersmeet.core.index import Snapshot, Tier
from watersmeet.core.model import ANY, ChunkId
from watersmeet.core.names import CREATED
from watersmeet.engine.index.location import open_index
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.catalogue import AS_WRITTEN, Catalogue
from watersmeet.store.local.read_back import read_back
from watersmeet.testing.contracts.corpus import Filling, Given

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector


class Copied(NamedTuple):
    given: list[Given]
    tiers: dict[str, tuple[Tier, dict[ChunkId, Vector]]]
    facts: dict[str, str]

    def fill(self, filling: Filling) -> None:
        """Everything but the facts, which each store has its own way to keep."""
        filling.put(self.given)
        for tier, vectors in self.tiers.values():
            filling.embed(tier, vectors)


def copied(folder: str) -> Copied:
    """All that there is in an index; what was embedded is not embedded again."""
    with (
        closing(open_index(folder, load(environ={}))) as index,
        index.snapshot() as snapshot,
        closing(Catalogue(folder)) as catalogue,
    ):
        given = list(_given(snapshot, catalogue))
        ids = [chunk.id for one in given for chunk in one.chunks]
        tiers = {}
        for name, tier in snapshot.tiers().items():
            vectors = snapshot.vectors(tier, ANY).read(ids)
            tiers[name] = (tier, dict(zip(ids, vectors, strict=True)))
        return Copied(given, tiers, dict(snapshot.facts()))


def _given(snapshot: Snapshot, catalogue: Catalogue) -> Iterator[Given]:
    records = {record.document: record for record in snapshot.records()}
    for document, stored in read_back(catalogue):
        record = records[document.id]
        created = record.fields.get(CREATED)
        whole = replace(
            document,
            path=record.path,
            modified=record.modified,
            created=datetime.fromisoformat(created) if created else None,
            fields={key: value for key, value in record.fields.items() if key not in (CREATED, AS_WRITTEN)},
            links=tuple(snapshot.links_of(document.id)),
        )
        yield Given(whole, tuple(one.chunk for one in stored), record.collection)
