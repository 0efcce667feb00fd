"""Entities of a registry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import boost, singular
from watersmeet.core.entities import TOOL, Entity, entity_of
from watersmeet.core.model import ANY, ChunkId, Condition, DocId
from watersmeet.core.ports import DocumentHead, Mention

if TYPE_CHECKING:
    from watersmeet.store.postgres.snapshot import PostgresSnapshot

FIRST = 2
"""Chunks of an entity that are scored if another signal found it."""


class LiveEntities:
    def __init__(self, snapshot: PostgresSnapshot, visible: Condition) -> None:
        self._snapshot, self._visible = snapshot, visible

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        found = [(mention, key) for mention, key in self._mentions(words, condition) if mention.chunk]
        found.sort(key=lambda one: (-boost(one[0].places), -one[0].words, one[1]))
        return [mention for mention, _ in found[:limit]]

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        owners = self._snapshot.owners_of(ids)
        mentions = {key: mention for mention, key in self._mentions(words, ANY)}
        return [mentions[key]._replace(chunk=chunk) for chunk, key in owners.items() if key in mentions]

    def _mentions(self, words: Sequence[str], condition: Condition) -> list[tuple[Mention, int]]:
        """Documents that mention any of the words, with places and the number of words."""
        where, values = self._snapshot.where(condition)
        rows = self._snapshot.ask(
            "SELECT d.key, d.first_chunk, m.places FROM mentions m JOIN documents d ON d.key = m.document"
            f" WHERE m.word = ANY(%s) AND {where}",
            [[*{singular(word) for word in words}], *values],
        )
        found: dict[int, Mention] = {}
        for key, chunk, places in rows:
            old = found.get(key, Mention(ChunkId(chunk), 0, 0))
            found[key] = Mention(old.chunk, old.places | int(places, 16), old.words + 1)
        return [(mention, key) for key, mention in found.items()]

    def kinds(self) -> Mapping[str, int]:
        return self._snapshot.kinds(self._visible)

    def heads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, DocumentHead]:
        found = self._snapshot.rows.by_id(ids)
        return {
            chunk: DocumentHead(one.first, one.document, one.kind, one.server if one.kind == TOOL else None)
            for chunk, one in found.items()
        }

    def chunks(self, heads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        owners = {owner: lead for lead, owner in self._snapshot.owners_of(heads).items()}
        found = self._snapshot.rows.learn("c.document = ANY(%s) AND c.ordinal < %s", [list(owners), FIRST])
        return {one.id: owners[one.owner] for one in found}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._snapshot.first_chunks(documents, condition)

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        return {name: entity_of(one) for name, one in self.records(documents).items() if one["kind"] != TOOL}

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        rest = 'AND d.kind = %s AND (d.name = ANY(%s) OR d.title = ANY(%s)) ORDER BY d.name COLLATE "C"'
        found = self._snapshot.named_where("d.name, d.title", condition, rest, [TOOL, [*names], [*names]])
        return [(name, title) for name, title in found]

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        rest = "AND d.name = ANY(%s)"
        found = self._snapshot.named_where("d.name, d.record", ANY, rest, [list(documents)])
        return {name: record for name, record in found if record}
