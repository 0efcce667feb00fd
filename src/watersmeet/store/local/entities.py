"""The entities of a registry, as one moment of the catalogue has them for whoever asks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import Any

from watersmeet.core.boosts import boost, singular
from watersmeet.core.entities import KINDS, TOOL, Entity, entity_of
from watersmeet.core.model import ANY, ChunkId, Condition, DocId
from watersmeet.core.ports import DocumentHead, Mention
from watersmeet.store.local._checksums import fields_are_sound
from watersmeet.store.local._mentions import decoded
from watersmeet.store.local.documents import DocumentsView

REMEMBERED = 100_000
QUERIES = 32
FIRST = 2
"""How many chunks of an entity are scored where only another signal found it: its text and its examples."""
WORDS = 2_000
ENTITIES = 500

_Held = dict[int, tuple[int, int]]
"""For each document: where it mentions any of some words, and how many of them."""


class LiveEntities:
    """The `Entities` port of a snapshot; what was read is remembered until something is committed."""

    def __init__(self, view: DocumentsView, seen: Condition = ANY) -> None:
        self._view, self._seen = view, seen
        self._lock = Lock()
        self._version: object = None
        self._forget()

    def _forget(self) -> None:
        self._any: bool | None = None
        self._said: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._held: dict[tuple[tuple[str, ...] | str, ...], tuple[_Held, list[int]]] = {}
        self._kinds: Mapping[str, int] | None = None
        self._leads: dict[ChunkId, DocumentHead] = {}
        self._chunks: dict[ChunkId, tuple[ChunkId, ...]] = {}
        self._entities: dict[DocId, Entity] = {}

    def _renew(self) -> None:
        """What was read is true until something is committed."""
        if self._version != self._view.version:
            with self._lock:
                if self._version != self._view.version:
                    self._forget()
                    self._version = self._view.version

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        """The order is known before anyone is left out, so that only as many are looked up as are wanted."""
        held, order = self._found(words, kinds_of(condition))
        found: list[Mention] = []
        start, size = 0, 2 * limit
        while start < len(order) and len(found) < limit:
            batch = order[start : start + size]
            allowed = self._allowed(batch, condition)
            found += [Mention(allowed[key], *held[key]) for key in batch if key in allowed]
            start, size = start + size, 4 * size
        return found[:limit]

    def kinds(self) -> Mapping[str, int]:
        """How many documents there are of each kind."""
        self._renew()
        version, kinds = self._version, self._kinds
        if kinds is None:
            kinds = self._view.kinds(self._seen)
            if self._version == version:  # else somebody else's moment has begun
                self._kinds = kinds
        return kinds

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        held, _ = self._found(words, KINDS)
        if not held:
            return []
        rows = self._view.query(
            "SELECT c.id, c.document FROM json_each(?) j JOIN chunks c ON c.id = j.value", [json.dumps(list(ids))]
        )
        return [Mention(chunk, *held[key]) for chunk, key in rows if key in held]

    def heads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, DocumentHead]:
        self._renew()
        known = self._leads
        unknown = [chunk for chunk in ids if chunk not in known]
        if unknown:
            rows = self._view.query(
                "SELECT c.id, f.id, d.name, d.kind,"
                f" CASE d.kind WHEN '{TOOL}' THEN json_extract(d.fields, '$.server') END"
                " FROM json_each(?) j JOIN chunks c ON c.id = j.value JOIN documents d ON d.id = c.document"
                " JOIN chunks f ON f.document = d.id AND f.ordinal = 0",
                [json.dumps(unknown)],
            )
            if len(known) > REMEMBERED:
                known = self._leads = {chunk: known[chunk] for chunk in ids if chunk in known}
            known.update((chunk, DocumentHead(*rest)) for chunk, *rest in rows)
        return known

    def chunks(self, heads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        self._renew()
        known = self._chunks
        unknown = [lead for lead in heads if lead not in known]
        if unknown:
            rows = self._view.query(
                "SELECT c.id, f.id FROM json_each(?) j JOIN chunks f ON f.id = j.value"
                f" JOIN chunks c ON c.document = f.document AND c.ordinal < {FIRST}",
                [json.dumps(unknown)],
            )
            if len(known) > REMEMBERED:
                known = self._chunks = {lead: known[lead] for lead in heads if lead in known}
            found: dict[ChunkId, tuple[ChunkId, ...]] = {}
            for chunk, lead in rows:
                found[lead] = (*found.get(lead, ()), chunk)
            known.update(found)
        return {chunk: lead for lead in heads for chunk in known.get(lead, ())}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._view.first_chunks(documents, condition)

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        if not names:
            return []
        where, values = self._view.where(condition)
        listed = json.dumps(list(names))
        return self._view.query(
            "SELECT d.name, d.title FROM documents d WHERE d.kind = ? AND (d.name IN (SELECT value FROM json_each(?))"
            f" OR d.title IN (SELECT value FROM json_each(?))) AND {where or 'true'} ORDER BY d.name",
            [TOOL, listed, listed, *values],
        )

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        if not documents:
            return {}
        rows = self._view.query(
            "SELECT d.name, d.hash, CAST(d.fields AS BLOB) FROM json_each(?) j JOIN documents d ON d.name = j.value",
            [json.dumps(list(documents))],
        )
        self._view.damaged.update((name, None) for name, hash, fields in rows if not fields_are_sound(hash, fields))
        self._view.sound()
        found = {name: json.loads(fields).get("record") for name, _, fields in rows}
        return {name: record for name, record in found.items() if record}

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        """One that was found is asked for twice: for its tools, and to be shown."""
        self._renew()
        known = self._entities
        unknown = [name for name in documents if name not in known]
        if len(known) + len(unknown) > ENTITIES:
            known = self._entities = {name: known[name] for name in documents if name in known}
        for name, record in self.records(unknown).items():
            if record["kind"] != TOOL:
                known[name] = entity_of(record)
        return {name: known[name] for name in documents if name in known}

    def _allowed(self, keys: Sequence[int], condition: Condition) -> dict[int, ChunkId]:
        where, values = self._view.where(condition)
        return dict(
            self._view.query(
                "SELECT d.id, c.id FROM json_each(?) j JOIN documents d ON d.id = j.value"
                f" JOIN chunks c ON c.document = d.id AND c.ordinal = 0 WHERE {where or 'true'}",
                [json.dumps(keys), *values],
            )
        )

    def _found(self, words: Sequence[str], kinds: Sequence[str]) -> tuple[_Held, list[int]]:
        """Who of these kinds mentions any of the words, and in which order: most boost, then most words."""
        self._renew()
        wanted = tuple(sorted({singular(word) for word in words}))
        known = self._held.get((wanted, *kinds))
        if known is None:
            held: _Held = {}
            if self._any is None:
                self._any = bool(self._view.query("SELECT 1 FROM sqlite_master WHERE name = 'mentions'"))
            for kind in kinds if self._any else ():
                for word in wanted:
                    for document, places in self._postings(word, kind):
                        old, count = held.get(document, (0, 0))
                        held[document] = old | places, count + 1
            order = sorted((-boost(places), -count, document) for document, (places, count) in held.items())
            known = held, [document for _, _, document in order]
            with self._lock:
                if len(self._held) >= QUERIES:
                    self._held = {}
                self._held[wanted, *kinds] = known
        return known

    def _postings(self, word: str, kind: str) -> list[tuple[int, int]]:
        found = self._said.get((word, kind))
        if found is None:
            rows = self._view.query("SELECT document, places FROM mentions WHERE word = ? AND kind = ?", [word, kind])
            found = [(document, decoded(places)) for document, places in rows]
            with self._lock:
                if len(self._said) >= WORDS:
                    self._said = {}
                self._said[word, kind] = found
        return found


def kinds_of(condition: Condition) -> tuple[str, ...]:
    """The kinds of entities that a condition lets through."""
    kinds: tuple[str, ...] = KINDS
    for key, wanted in (*condition.fields.items(), *condition.also):
        if key == "kind":
            kinds = tuple(kind for kind in kinds if kind in wanted)
    return kinds
