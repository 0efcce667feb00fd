"""Documents in a snapshot of the catalogue: passages, records, names, filter fields."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import IndexedRoot, Record, Statistics
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.names import ALIAS, CREATED, CUSTOM, WORDS_ONLY, link_key
from watersmeet.core.text_fields import description
from watersmeet.core.tokens import words
from watersmeet.core.visibility import AUDIENCE_GATE, PUBLIC
from watersmeet.store.local._checksums import CHUNK, HEAD, chunk_is_sound, fields_are_sound, head_is_sound
from watersmeet.store.local._counts import CHUNKS, KIND
from watersmeet.store.local._links import resolved
from watersmeet.store.local._place_columns import place_of
from watersmeet.store.local.view import FEW_DOCUMENTS, RARE_SHARE, CatalogueView

if TYPE_CHECKING:
    from watersmeet.core.documents import Link

_FACETS = "SELECT key FROM facets"
_RECORD = (
    "SELECT d.hash, CAST(d.name AS BLOB), CAST(d.kind AS BLOB), CAST(d.title AS BLOB), CAST(d.path AS BLOB),"
    " d.modified, CAST(d.fields AS BLOB), d.file, k.name,"
    " (SELECT count(*) FROM chunks c WHERE c.document = d.id)"
    " FROM documents d JOIN collections k ON k.id = d.collection"
)
_PASSAGE = (
    f"SELECT CASE WHEN json_valid(d.fields) THEN d.fields ->> '$.\"{CREATED}\"' END, d.file,"
    f" c.hash, d.hash, {CHUNK.format('c')}, {HEAD.format('d.')}"
    " FROM chunks c JOIN documents d ON d.id = c.document"
)


class DocumentsView(CatalogueView):
    """The `Documents` port, with further reads for the local store."""

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        cache = self.cache
        cached = cache.passages
        passages = {chunk: cached[chunk] for chunk in ids if chunk in cached}
        others = [chunk for chunk in ids if chunk not in passages]
        if not others:
            return passages
        found = self._read_passages(others)
        cache.add_passages(found)
        return {chunk: one for chunk in ids if (one := found.get(chunk) or passages.get(chunk))}

    def _read_passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        found = self.query(f"{_PASSAGE} JOIN json_each(?) j ON c.id = j.value", [json.dumps(list(ids))])
        passages = [self._passage(row) for row in found]
        if len(passages) < len(ids) and len(found) < len(self.rows(ids)):  # an SQL index has lost it
            self.damaged["a chunk that an SQL index has lost"] = None
        return {passage.id: passage for passage in passages if passage is not None}

    def _passage(self, row: Sequence[Any]) -> Passage | None:
        """None if it is damaged."""
        created, file, chunk_hash, document_hash, *content, name, kind, title, path, modified = row
        identity, headings, first, last, text, spot = content
        sound = chunk_is_sound(chunk_hash, *content)
        if sound and head_is_sound(document_hash, name, kind, title, path, modified):
            with suppress(ValueError, TypeError):  # an older version wrote no sums to go by
                return Passage(
                    ChunkId(identity.decode()),
                    DocId(name.decode()),
                    kind.decode(),
                    title.decode(),
                    self._on_disk(path.decode(), file),
                    _datetime_of(modified),
                    tuple(json.loads(headings)),
                    place_of(file, first, last, spot.decode()),
                    text.decode(),
                    created or "",
                )
        self.damaged[bytes(name or b"?").decode("utf8", "replace")] = None
        return None

    def _on_disk(self, path: str, file: int | None) -> str:
        """The path of a document's file; for a registry entity, its path in the registry."""
        return path if file is None else self.paths.on_disk(path)

    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]:
        owned, cache = self.owners_of(ids), self.cache
        unnamed = set(owned.values()).difference(cache.names)
        if unnamed:
            sql = "SELECT d.id, d.name FROM json_each(?) j JOIN documents d ON d.id = j.value"
            cache.names.update(self.query(sql, [json.dumps(list(unnamed))]))
        return {chunk: cache.names[document] for chunk, document in owned.items()}

    def names_of(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """The words of each document's names besides its title: file name, aliases, tags."""
        cached_names = self.cache.name_words
        others = [document for document in documents if document not in cached_names]
        if others:
            found: dict[DocId, list[str]] = {document: [] for document in others}
            for document, name in self.query(
                "WITH d AS (SELECT d.id, d.name FROM json_each(?) j JOIN documents d ON d.name = j.value)"
                " SELECT d.name, n.key FROM d JOIN names n ON n.document = d.id"
                " WHERE n.rank = ? OR instr(n.key, '/') = 0"
                " UNION ALL SELECT d.name, f.value FROM d JOIN facets f ON f.document = d.id AND f.key = 'tag'",
                [json.dumps(others), ALIAS],
            ):
                found[document] += words(name)
            cached_names.update({document: frozenset(names) for document, names in found.items()})
        return {document: cached_names[document] for document in documents}

    def aliased(self, key: str, ids: Collection[ChunkId]) -> list[ChunkId]:
        """Those of the chunks whose document has this alias."""
        documents = {
            document
            for (document,) in self.query("SELECT document FROM names WHERE key = ? AND rank = ?", [key, ALIAS])
        }
        owners = self.owners_of(ids) if documents else {}
        return [chunk for chunk, owner in owners.items() if owner in documents]

    def words_only(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """Words that documents are found by but that are in no text: descriptive fields, the registry of a skill, the
        author of a virtual server."""
        names = json.dumps(list(documents))
        found = self.query(
            "SELECT d.name, json_extract(d.fields, '$.record.metadata.' || k.value) FROM json_each(?) j"
            " JOIN documents d ON d.name = j.value JOIN json_each(?) k ON k.key = d.kind",
            [names, json.dumps(WORDS_ONLY)],
        )
        texts = {document: str(text) for document, text in found if text}
        if any(kind.startswith(CUSTOM) for kind in self.kinds()):
            texts |= self._keywords(names)
        pages = self.query(
            "SELECT d.name, d.fields FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " WHERE json_valid(d.fields) AND d.fields -> '$.record' IS NULL",
            [names],
        )
        texts |= {document: text for document, fields in pages if (text := description(json.loads(fields)))}
        return {document: frozenset(words(text)) for document, text in texts.items()}

    def _keywords(self, names: str) -> dict[DocId, str]:
        """What only keyword search uses of those of these documents that are entities of declared types."""
        from watersmeet.core.entities import entity_of, not_embedded  # lazy: few indexes have any

        found = self.query(
            "SELECT d.name, d.fields -> '$.record' FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " WHERE substr(d.kind, 1, ?) = ?",
            [names, len(CUSTOM), CUSTOM],
        )
        return {document: not_embedded(entity_of(json.loads(record))) for document, record in found if record}

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        """The number of documents with each tag or one below it, without those of some kinds."""
        where, values = self.where(condition)
        which = f"d.kind NOT IN (SELECT value FROM json_each(?)) AND {where or 'true'}"
        found = self.query(
            "WITH RECURSIVE tagged (document, tag) AS ("
            f" SELECT d.id, f.value FROM facets f JOIN documents d ON d.id = f.document WHERE f.key = 'tag' AND {which}"
            " UNION SELECT d.id, casefold(m.value) FROM collections k, json_each(k.metadata) m"
            f" JOIN documents d ON d.collection = k.id WHERE casefold(m.key) = 'tag' AND {which}"
            " UNION SELECT document, rtrim(rtrim(tag, replace(tag, '/', '')), '/') FROM tagged WHERE instr(tag, '/'))"
            " SELECT tag, count(*) FROM tagged WHERE tag <> '' GROUP BY tag",
            2 * [json.dumps(list(without)), *values],
        )
        return dict(found)

    def collections_of(self, documents: Collection[str]) -> set[str]:
        """The collections that documents are in."""
        found = self.query(
            "SELECT DISTINCT k.name FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " JOIN collections k ON k.id = d.collection",
            [json.dumps(list(documents))],
        )
        return {name for (name,) in found}

    def dates_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, datetime]:
        """The modification time of each chunk's document, where known."""
        found = self.query(
            "SELECT c.id, d.modified FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            " JOIN documents d ON d.id = c.document WHERE d.modified IS NOT NULL",
            [json.dumps(list(ids))],
        )
        return {chunk: datetime.fromtimestamp(stamp, UTC) for chunk, stamp in found}

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        """Each chunk with so many chunks before and after it, in reading order."""
        found = self.query(
            _PASSAGE.replace("SELECT", "SELECT m.id,", 1) + " JOIN chunks m ON m.document = c.document"
            " AND c.ordinal BETWEEN m.ordinal - ? AND m.ordinal + ? JOIN json_each(?) j ON m.id = j.value"
            " ORDER BY c.document, c.ordinal",
            [before, after, json.dumps(list(ids))],
        )
        sides: dict[ChunkId, list[Passage]] = {}
        for middle, *row in found:
            passage = self._passage(row)
            sides.setdefault(middle, []).extend([passage] if passage else [])
        return sides

    def parents(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        """The first chunk of each chunk's parent section, if that has text of its own."""
        found = self.query(
            _PASSAGE.replace("SELECT", "SELECT m.id,", 1) + " JOIN chunks m ON m.document = c.document"
            " AND json_array_length(m.headings) > 0"
            " AND json(c.headings) = json_remove(m.headings, '$[#-1]') JOIN json_each(?) j ON m.id = j.value"
            " ORDER BY c.document, c.ordinal DESC",
            [json.dumps(list(ids))],
        )
        return {child: passage for child, *row in found if (passage := self._passage(row))}

    def passages_of(self, document: DocId) -> list[Passage]:
        rows = self.query(f"{_PASSAGE} WHERE d.name = ? ORDER BY c.ordinal", [document])
        return [passage for row in rows if (passage := self._passage(row))]

    def records(self, condition: Condition = ANY) -> list[Record]:
        """All documents that satisfy the condition."""
        where, values = self.where(condition)
        rows = self.query(f"{_RECORD} WHERE {where or 'true'} ORDER BY d.name", values)
        return [record for row in rows if (record := self._record(row))]

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None:
        where, values = self.where(condition)
        found = self.query(f"{_RECORD} WHERE d.name = ? AND {where or 'true'}", [document, *values])
        return self._record(found[0]) if found else None

    def _record(self, row: Sequence[Any]) -> Record | None:
        """None if it is damaged."""
        hash, *head, fields, file, collection, chunks = row
        if head_is_sound(hash, *head) and fields_are_sound(hash, fields):
            with suppress(ValueError, TypeError):
                name, kind, title, path = (value.decode() for value in head[:4])
                path = self._on_disk(path, file)
                return Record(
                    DocId(name), kind, title, path, _datetime_of(head[4]), collection, json.loads(fields), chunks
                )
        self.damaged[bytes(head[0] or b"?").decode("utf8", "replace")] = None
        return None

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        """Those of these documents that exist and satisfy the condition."""
        where, values = self.where(condition)
        sql = f"SELECT d.name FROM json_each(?) j JOIN documents d ON d.name = j.value WHERE {where or 'true'}"
        return {name for (name,) in self.query(sql, [json.dumps(list(documents)), *values])}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """The first chunk of each of these documents that the condition lets through."""
        if not documents:
            return {}
        where, values = self.where(condition)
        found = self.query(
            "SELECT d.name, c.id FROM json_each(?) j JOIN documents d ON d.name = j.value"
            f" JOIN chunks c ON c.document = d.id AND c.ordinal = 0 WHERE {where or 'true'}",
            [json.dumps(list(documents)), *values],
        )
        return dict(found)

    def texts(self, rows: Collection[Row]) -> list[tuple[Row, str, tuple[str, ...], str]]:
        """Row, title, headings and text of those rows that are live and undamaged, in the given order."""
        sql = _PASSAGE.replace("SELECT", "SELECT c.row,", 1) + " JOIN json_each(?) j ON c.row = j.value ORDER BY j.key"
        found = self.query(sql, [json.dumps(list(rows))])
        passages = [(row, self._passage(values)) for row, *values in found]
        return [(row, one.title, one.headings, one.text) for row, one in passages if one is not None]

    # ------------------------------------------------------------ links as they are written

    def links_of(self, document: DocId) -> list[Link]:
        from watersmeet.core.documents import Link  # lazy: no search needs it

        found = self.query(
            "SELECT l.target, l.type, l.heading, l.alias FROM links l JOIN documents d ON d.id = l.document"
            " WHERE d.name = ? ORDER BY l.rowid",
            [document],
        )
        return [Link(*row) for row in found]

    def named_texts(self) -> list[tuple[DocId, DocId, str]]:
        """Links with an anchor text, as (from, to, text), each resolved to the document closest in name."""
        found = self.query(
            "SELECT s.name, t.name, l.alias, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document"
            " WHERE l.alias <> '' AND s.id <> t.id"
        )
        return resolved(found)

    # ------------------------------------------------------------ by name, by value

    def at(self, paths: Collection[str], condition: Condition) -> list[DocId]:
        """The documents that are read from one of these files."""
        where, values = self.where(condition)
        found = self.query(
            "SELECT d.name FROM documents d WHERE (d.path IN (SELECT value FROM json_each(?))"
            " OR (d.file IS NOT NULL AND d.path IN (SELECT value FROM json_each(?))))"
            f" AND {where or 'true'} ORDER BY d.name",
            [json.dumps(list(paths)), json.dumps([self.paths.stored(path) for path in paths]), *values],
        )
        return [name for (name,) in found]

    def named(self, key: str, condition: Condition) -> dict[DocId, int]:
        """Candidate documents for a link key; a low rank is a closer name."""
        where, values = self.where(condition)
        found = self.query(
            "SELECT d.name, n.rank FROM names n JOIN documents d ON d.id = n.document"
            f" WHERE n.key IN (SELECT value FROM json_each(?)) AND {where or 'true'} ORDER BY n.rank, d.name",
            [json.dumps([key]), *values],
        )
        return dict(found)

    def titled(self, key: str, condition: Condition) -> list[DocId]:
        """The documents whose title has this link key."""
        where, values = self.where(condition)
        found = self.query(f"SELECT d.name, d.title FROM documents d WHERE {where or 'true'} ORDER BY d.name", values)
        return [name for name, title in found if link_key(DocId(""), title, "wiki") == key]

    def titles(self, condition: Condition, limit: int) -> list[tuple[DocId, str]] | None:
        """Every document with its title; None if there are more than `limit`."""
        where, values = self.where(condition)
        sql = f"SELECT d.name, d.title FROM documents d WHERE {where or 'true'} ORDER BY d.name LIMIT ?"
        found = self.query(sql, [*values, limit + 1])
        return found if len(found) <= limit else None

    def fields(self, condition: Condition = ANY) -> set[str]:
        """Fields to filter by, besides those of every document."""
        where, values = self.where(condition)
        own = f"{_FACETS} f JOIN documents d ON d.id = f.document WHERE {where}" if where else _FACETS
        seen = f"WHERE EXISTS (SELECT 1 FROM documents d WHERE d.collection = k.id AND {where})" if where else ""
        sql = f"{own} UNION SELECT casefold(m.key) FROM collections k, json_each(k.metadata) m {seen}"
        found = self.query(sql, [*values, *values] if where else values)
        return {key for (key,) in found if not key.startswith("@")}

    def values_of(self, key: str, condition: Condition) -> list[str]:
        """The values of a field, most frequent first."""
        where, values = self.where(condition)
        where = where or "true"
        if key == "kind":
            sql = f"SELECT d.kind FROM documents d WHERE {where} GROUP BY d.kind ORDER BY count(*) DESC, d.kind"
        elif key == "collection":
            sql = (
                "SELECT k.name FROM documents d JOIN collections k ON k.id = d.collection"
                f" WHERE {where} GROUP BY k.name ORDER BY count(*) DESC, k.name"
            )
        else:
            sql = (
                "SELECT value FROM (SELECT f.value FROM documents d JOIN facets f ON f.document = d.id"
                f" WHERE {where} AND f.key = ? UNION ALL SELECT casefold(m.value) AS value FROM documents d"
                " JOIN collections k ON k.id = d.collection, json_each(k.metadata) m"
                f" WHERE {where} AND casefold(m.key) = ?) GROUP BY value ORDER BY count(*) DESC, value"
            )
            values = [*values, key, *values, key]
        return [value for (value,) in self.query(sql, values)]

    def count_values(self, documents: Collection[DocId], key: str) -> dict[str, int]:
        """Number of these documents for each value of a facet, `kind` or `collection`."""
        value, joined = {
            "kind": ("d.kind", ""),
            "collection": ("k.name", " JOIN collections k ON k.id = d.collection"),
        }.get(key, ("f.value", " JOIN facets f ON f.document = d.id AND f.key = ?"))
        found = self.query(
            f"SELECT {value}, count(DISTINCT d.id) FROM json_each(?) j JOIN documents d ON d.name = j.value{joined}"
            f" GROUP BY {value}",
            [json.dumps(list(documents)), *([key] if "?" in joined else [])],
        )
        return dict(found)

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        """The first chunk of each document that satisfies the condition, newest first."""
        where, values = self.where(condition)
        few = self.few_documents(condition) if condition.has_filters else None
        listed = "d.id IN (SELECT value FROM json_each(?)) AND " if few is not None else ""
        found = self.query(
            "SELECT c.id FROM documents d JOIN chunks c ON c.document = d.id"
            " AND c.ordinal = (SELECT min(o.ordinal) FROM chunks o WHERE o.document = d.id)"
            f" WHERE {listed}{where or 'true'} ORDER BY d.modified DESC, d.name LIMIT ?",
            [*([json.dumps(few)] if few is not None else []), *values, limit],
        )
        return [chunk for (chunk,) in found]

    # ------------------------------------------------------------ counts

    def sample(self, limit: int, visible: Condition = ANY, *, outside: bool = False, since: int = 0) -> list[ChunkId]:
        """A random but repeatable sample: the lowest ids, which are hashes and independent of the index's history."""
        if visible.has_filters and not outside and not since and self.share(visible) < RARE_SHARE:
            rows = self.few(visible, FEW_DOCUMENTS)
            if rows is not None:
                sql = "SELECT c.id FROM json_each(?) j CROSS JOIN chunks c ON c.row = j.value ORDER BY c.id LIMIT ?"
                return [chunk for (chunk,) in self.query(sql, [json.dumps(rows), limit])]
        where, values = self.where(visible)
        where = f"NOT ({where or 'true'})" if outside else where
        joined = f"JOIN documents d ON d.id = c.document AND {where}" if where else ""
        sql = f"SELECT c.id FROM chunks c {joined} {'WHERE c.row > ?' if since else ''} ORDER BY c.id LIMIT ?"
        found = self.query(sql, [*values, *([since] if since else []), limit])
        return [chunk for (chunk,) in found]

    def text_bytes(self, visible: Condition = ANY) -> int:
        """The total size of all texts in bytes."""
        where, values = self.where(visible)
        joined = f"JOIN documents d ON d.id = c.document WHERE {where}" if where else ""
        length: int
        ((length,),) = self.query(
            f"SELECT coalesce(sum(text_size(CAST(c.text AS BLOB))), 0) FROM chunks c {joined}", values
        )
        return length

    def kinds(self, visible: Condition = ANY) -> dict[str, int]:
        """The number of documents of each kind, from the stored counts minus the hidden private documents."""
        counts = self.counts()
        found = {name.removeprefix(KIND): count for name, count in sorted(counts.items()) if name.startswith(KIND)}
        must, values = self.where(visible)
        if must:
            hidden = self.query(
                "SELECT d.kind, count(DISTINCT d.id) FROM facets f JOIN documents d ON d.id = f.document"
                f" WHERE f.key = ? AND f.value <> ? AND NOT ({must}) GROUP BY d.kind",
                [AUDIENCE_GATE, PUBLIC, *values],
            )
            found = {kind: count - dict(hidden).get(kind, 0) for kind, count in found.items()}
        return {kind: count for kind, count in found.items() if count}

    def statistics(self, visible: Condition = ANY) -> Statistics:
        where, values = self.where(visible)
        kinds, chunks = self.kinds(visible), self.counts().get(CHUNKS, 0)
        if where:
            sql = f"SELECT count(*) FROM documents d JOIN chunks c ON c.document = d.id WHERE {where}"
            ((chunks,),) = self.query(sql, values)
        collections = self.query(
            "SELECT k.name, count(d.id) FROM collections k LEFT JOIN documents d ON d.collection = k.id"
            f" {'AND ' + where if where else ''} GROUP BY k.id ORDER BY k.name",
            values,
        )
        ((dead,),) = self.query("SELECT count(*) FROM dead")
        return Statistics(sum(kinds.values()), chunks, dead, kinds, dict(collections), self.roots())

    def indexed_roots(self, visible: Condition = ANY) -> list[IndexedRoot]:
        from watersmeet.core.writing import Root  # lazy: searches do not need it

        has = {name for _, name, *_ in self.query("PRAGMA table_info(roots)")}  # an earlier version had fewer columns
        fields = {"prefix": "''", "kind": "'folder'", "cursor": "''"}
        prefix, kind, cursor = (f"r.{name}" if name in has else value for name, value in fields.items())
        where, values = self.where(visible)
        rows = self.query(
            f"SELECT r.id, r.path, r.name, r.collection, {prefix}, {kind}, {cursor}, coalesce(n.name, ''),"
            " (SELECT count(*) FROM files f JOIN documents d ON d.file = f.id"
            f" WHERE f.root = r.id{f' AND ({where})' if where else ''})"
            " FROM roots r LEFT JOIN collections n ON n.id = r.collection ORDER BY r.id",
            values,
        )
        return [
            IndexedRoot(Root(id, self.paths.on_disk(path), *others), collection, documents)
            for id, path, *others, collection, documents in rows
        ]

    def roots(self) -> list[str]:
        """Paths of the folders and files that the index covers."""
        return [self.paths.on_disk(path) for (path,) in self.query("SELECT path FROM roots ORDER BY id")]


def _datetime_of(stamp: float | None) -> datetime | None:
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC)
