"""Documents and passages: read from PostgreSQL, unless a search has already loaded them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from watersmeet.common.conditions import in_path
from watersmeet.core.documents import Link
from watersmeet.core.facets import with_parents
from watersmeet.core.index import Record
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage
from watersmeet.store.local._links import Resolver
from watersmeet.store.postgres.conditions import Pushed
from watersmeet.store.postgres.rows import LIVE, Rows

_RECORD = "SELECT d.name, d.kind, d.title, d.path, d.modified, d.collection, d.fields, d.chunks FROM documents d"


class DocumentReads:
    version: int
    rows: Rows
    collections: dict[str, dict[str, str]]

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        raise NotImplementedError

    def where(self, condition: Condition) -> tuple[str, list[Any]]:
        """The WHERE clause for live documents `d` that satisfy a condition. Globs are matched on names first."""
        pushed = Pushed(condition, self.collections)
        sql, values = pushed.sql()
        live = f"{LIVE.format('d')} AND {sql}"
        values = [self.version, self.version, *values]
        if not pushed.globs:
            return live, values
        required = [
            globs_of_key
            for key, globs_of_key in (*condition.fields.items(), *condition.also)
            if key.casefold() == "path"
        ]
        excluded = [globs_of_key for key, globs_of_key in condition.without if key.casefold() == "path"]
        keys = [
            key
            for key, name in self.ask(f"SELECT d.key, d.name FROM documents d WHERE {live}", values)
            if all(in_path(name, globs) for globs in required) and not any(in_path(name, globs) for globs in excluded)
        ]
        return "d.key = ANY(%s)", [keys]

    def named_where(self, columns: str, condition: Condition, rest: str = "", values: Sequence[Any] = ()) -> list[Any]:
        where, given = self.where(condition)
        return self.ask(f"SELECT {columns} FROM documents d WHERE {where} {rest}", [*given, *values])

    # ------------------------------------------------------------ chunks

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        return {chunk: row.passage for chunk, row in self.rows.by_id(ids).items()}

    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]:
        return {chunk: row.document for chunk, row in self.rows.by_id(ids).items()}

    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        return {chunk: row.owner for chunk, row in self.rows.by_id(ids).items()}

    def dates_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, datetime]:
        found = {chunk: row.modified for chunk, row in self.rows.by_id(ids).items()}
        return {chunk: when for chunk, when in found.items() if when}

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        middles = self.rows.by_id(ids)
        beside = self._siblings(ids)
        return {
            chunk: [one.passage for one in beside[m.owner] if m.ordinal - before <= one.ordinal <= m.ordinal + after]
            for chunk, m in middles.items()
        }

    def parents(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        beside = self._siblings(ids)
        found: dict[ChunkId, Passage] = {}
        for chunk, row in self.rows.by_id(ids).items():
            headings = row.passage.headings
            above = [one.passage for one in beside[row.owner] if headings and one.passage.headings == headings[:-1]]
            found |= {chunk: above[0]} if above else {}
        return found

    def _siblings(self, ids: Collection[ChunkId]) -> dict[int, list[Any]]:
        """All chunks of the documents of these, in their order."""
        owners = {row.owner for row in self.rows.by_id(ids).values()}
        found: dict[int, list[Any]] = {owner: [] for owner in owners}
        for row in self.rows.learn("c.document = ANY(%s)", [list(owners)], "c.document, c.ordinal"):
            found[row.owner].append(row)
        return found

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        order = 'AND d.first_chunk IS NOT NULL ORDER BY d.modified DESC NULLS LAST, d.name COLLATE "C" LIMIT %s'
        return [ChunkId(chunk) for (chunk,) in self.named_where("d.first_chunk", condition, order, [limit])]

    def passages_of(self, document: DocId) -> list[Passage]:
        return [row.passage for row in self.rows.learn("d.name = %s", [document], "c.ordinal")]

    # ------------------------------------------------------------ documents

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None:
        found = self._records(condition, "AND d.name = %s", [document])
        return found[0] if found else None

    def records(self, condition: Condition = ANY) -> list[Record]:
        return self._records(condition, 'ORDER BY d.name COLLATE "C"')

    def _records(self, condition: Condition, rest: str, values: Sequence[Any] = ()) -> list[Record]:
        where, given = self.where(condition)
        return [Record(*row) for row in self.ask(f"{_RECORD} WHERE {where} {rest}", [*given, *values])]

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        return {name for (name,) in self.named_where("d.name", condition, "AND d.name = ANY(%s)", [list(documents)])}

    def links_of(self, document: DocId) -> list[Link]:
        found = self.ask(
            "SELECT l.target, l.type, l.heading, l.alias FROM links l JOIN documents d ON d.key = l.document"
            f" WHERE d.name = %s AND {LIVE.format('d')} ORDER BY l.ordinal",
            [document, self.version, self.version],
        )
        return [Link(*row) for row in found]

    def named_texts(self) -> list[tuple[DocId, DocId, str]]:
        live = [self.version, self.version]
        found = self.ask(
            "SELECT s.name, l.key, l.alias, t.name, n.rank FROM links l JOIN documents s ON s.key = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.key = n.document"
            f" WHERE l.alias <> '' AND {LIVE.format('s')} AND {LIVE.format('t')}",
            [*live, *live],
        )
        resolve = Resolver({(key, target, rank) for _, key, _, target, rank in found})
        distinct = dict.fromkeys((source, key, text) for source, key, text, _, _ in found)
        resolved = [(source, resolve.closest(source, key), text) for source, key, text in distinct]
        return [(source, target, text) for source, target, text in resolved if target]

    def names_of(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        return {name: row[0] if row else frozenset() for name, row in self._words_of(documents).items()}

    def aliased(self, key: str, ids: Collection[ChunkId]) -> list[ChunkId]:
        return [chunk for chunk, row in self.rows.by_id(ids).items() if key in row.aliases]

    def words_only(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        return {name: row[1] for name, row in self._words_of(documents).items() if row and row[1]}

    def _words_of(self, documents: Collection[DocId]) -> dict[DocId, tuple[frozenset[str], frozenset[str]] | None]:
        """The words of documents' names, and further words; without a call for those that a search has loaded."""
        loaded = {name: self.rows.of_document(name) for name in documents}
        found = [(name, row.name_words, row.words_only) for name, row in loaded.items() if row]
        if others := [name for name, row in loaded.items() if not row]:
            found += self.named_where("d.name, d.called, d.known", ANY, "AND d.name = ANY(%s)", [others])
        return dict.fromkeys(documents) | {name: (frozenset(words), frozenset(more)) for name, words, more in found}

    def collections_of(self, documents: Collection[str]) -> set[str]:
        rest = "AND d.name = ANY(%s)"
        return {name for (name,) in self.named_where("DISTINCT d.collection", ANY, rest, [list(documents)])}

    # ------------------------------------------------------------ names

    def at(self, paths: Collection[str], condition: Condition) -> list[DocId]:
        rest = 'AND d.path = ANY(%s) ORDER BY d.name COLLATE "C"'
        return [name for (name,) in self.named_where("d.name", condition, rest, [list(paths)])]

    def named(self, key: str, condition: Condition) -> dict[DocId, int]:
        where, values = self.where(condition)
        found = self.ask(
            f"SELECT d.name, n.rank FROM names n JOIN documents d ON d.key = n.document WHERE n.key = %s AND {where}"
            ' ORDER BY n.rank, d.name COLLATE "C"',
            [key, *values],
        )
        return dict(found)

    def titled(self, key: str, condition: Condition) -> list[DocId]:
        rest = 'AND d.title_key = %s ORDER BY d.name COLLATE "C"'
        return [name for (name,) in self.named_where("d.name", condition, rest, [key])]

    def titles(self, condition: Condition, limit: int) -> list[tuple[DocId, str]] | None:
        rest = 'ORDER BY d.name COLLATE "C" LIMIT %s'
        found = [tuple(row) for row in self.named_where("d.name, d.title", condition, rest, [limit + 1])]
        return found if len(found) <= limit else None

    # ------------------------------------------------------------ what there is to filter by

    def fields(self, condition: Condition = ANY) -> set[str]:
        where, values = self.where(condition)
        sql = f"SELECT DISTINCT f ->> 0 FROM documents d, jsonb_array_elements(d.facets) f WHERE {where}"
        own = {key for (key,) in self.ask(sql, values)}
        sql = f"SELECT DISTINCT d.collection FROM documents d WHERE {where}"
        seen = self.collections if condition == ANY else [name for (name,) in self.ask(sql, values)]
        theirs = {key.casefold() for name in seen for key in self.collections.get(name, ())}
        return {key for key in own | theirs if not key.startswith("@")}

    def values_of(self, key: str, condition: Condition) -> list[str]:
        where, values = self.where(condition)
        if key in ("kind", "collection"):
            found = self.ask(f"SELECT d.{key}, count(*) FROM documents d WHERE {where} GROUP BY 1", values)
        else:
            sql = (
                "SELECT f ->> 1, count(*) FROM documents d, jsonb_array_elements(d.facets) f"
                f" WHERE {where} AND f ->> 0 = %s GROUP BY 1"
            )
            found = self.ask(sql, [*values, key])
        counts = dict(found)
        counts_by_collection = dict(self.named_where("d.collection, count(*)", condition, "GROUP BY 1"))
        for name, metadata in self.collections.items():
            low = {one.casefold(): value.casefold() for one, value in metadata.items()}
            if key in low and name in counts_by_collection:
                counts[low[key]] = counts.get(low[key], 0) + counts_by_collection[name]
        return sorted(counts, key=lambda value: (-counts[value], value))

    def count_values(self, documents: Collection[DocId], key: str) -> dict[str, int]:
        if key in ("kind", "collection"):
            rest = "AND d.name = ANY(%s) GROUP BY 1"
            return dict(self.named_where(f"d.{key}, count(*)", ANY, rest, [list(documents)]))
        sql = (
            "SELECT f ->> 1, count(DISTINCT d.name) FROM documents d, jsonb_array_elements(d.facets) f"
            " WHERE d.name = ANY(%s) AND f ->> 0 = %s GROUP BY 1"
        )
        return dict(self.ask(sql, [list(documents), key]))

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        where, values = self.where(condition)
        sql = (
            "SELECT d.name, d.collection, (SELECT json_agg(f ->> 1) FROM jsonb_array_elements(d.facets) f"
            f" WHERE f ->> 0 = 'tag') FROM documents d WHERE {where} AND NOT d.kind = ANY(%s)"
        )
        found: Counter[str] = Counter()
        for _, collection, tags in self.ask(sql, [*values, list(without)]):
            metadata = self.collections.get(collection, {})
            inherited = [value.casefold() for key, value in metadata.items() if key.casefold() == "tag"]
            found.update(set().union(*map(with_parents, [*(tags or ()), *inherited])))
        return dict(found)

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        rest = "AND d.first_chunk IS NOT NULL AND d.name = ANY(%s)"
        return dict(self.named_where("d.name, d.first_chunk", condition, rest, [list(documents)]))
