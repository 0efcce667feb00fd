"""The reading side of the catalogue: one moment of it, inside a read transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.model import ChunkId, Condition, DocId, Passage, Row
from watersmeet.store._connect import connect, guarded

if TYPE_CHECKING:
    from watersmeet.core.pages import Link


class Record(NamedTuple):
    """A document as the catalogue knows it."""

    document: DocId
    kind: str
    title: str
    path: str
    modified: datetime | None
    collection: str
    fields: dict[str, Any]
    chunks: int


_RECORD = (
    "SELECT d.name, d.kind, d.title, d.path, d.modified, k.name, d.fields,"
    " (SELECT count(*) FROM chunks c WHERE c.document = d.id)"
    " FROM documents d JOIN collections k ON k.id = d.collection"
)
_PASSAGE = (
    "SELECT c.id, d.name, d.kind, d.title, d.path, d.modified, c.headings, c.first, c.last, c.text"
    " FROM chunks c JOIN documents d ON d.id = c.document"
)


class SqliteView:
    """Use it inside `with view.moment():`; threads of one query may share it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._db = connect(folder)
        self._lock = Lock()
        self._matching: dict[str, list[Row] | None] = {}
        self._rows: dict[ChunkId, Row] = {}
        self.version = -1
        """Changes whenever another connection has committed something."""

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def moment(self) -> Iterator[SqliteView]:
        """Hold the catalogue still; what is committed meanwhile is not seen until the next moment."""
        self._ask("BEGIN")
        try:
            self._ask("SELECT 1 FROM meta LIMIT 1")  # a transaction begins with its first read
            version = self._ask("PRAGMA data_version")[0][0]
            if version != self.version:
                self._matching.clear()
                self.version = version
            yield self
        finally:
            self._rows.clear()
            self._ask("COMMIT")

    def _ask(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        with self._lock, guarded(self._folder):
            return self._db.execute(sql, tuple(values)).fetchall()

    # ------------------------------------------------------------ the View port

    def resolve(self, rows: Collection[Row], condition: Condition) -> dict[Row, ChunkId]:
        where, values = self._where(condition)
        join = "JOIN documents d ON d.id = c.document" if where else ""
        found = self._ask(
            f"SELECT c.row, c.id FROM json_each(?) j JOIN chunks c ON c.row = j.value {join}"
            f" {'WHERE ' + where if where else ''}",
            [json.dumps(list(rows)), *values],
        )
        resolved: dict[Row, ChunkId] = dict(found)
        self._rows.update({chunk: row for row, chunk in resolved.items()})
        return resolved

    def rows(self, ids: Collection[ChunkId]) -> dict[ChunkId, Row]:
        """What was resolved in this moment is known; only the others are looked up."""
        known = {chunk: self._rows[chunk] for chunk in ids if chunk in self._rows}
        if len(known) < len(ids):
            others = [chunk for chunk in ids if chunk not in known]
            sql = "SELECT c.id, c.row FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            known.update(self._ask(sql, [json.dumps(others)]))
        return known

    def matching(self, condition: Condition, limit: int) -> list[Row] | None:
        key = f"{limit} {condition!r}"
        if key not in self._matching:
            where, values = self._where(condition)
            found = self._ask(
                "SELECT c.row FROM chunks c JOIN documents d ON d.id = c.document"
                f" {'WHERE ' + where if where else ''} ORDER BY c.row LIMIT ?",
                [*values, limit + 1],
            )
            self._matching[key] = None if len(found) > limit else [row for (row,) in found]
        return self._matching[key]

    def _where(self, condition: Condition) -> tuple[str, list[Any]]:
        """The condition as SQL over documents `d`; what the user wrote only ever becomes a value."""
        parts: list[str] = []
        values: list[Any] = []
        for key, wanted in (*condition.fields.items(), *condition.also):
            if key == "kind":
                parts.append("d.kind IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(wanted))
            elif key == "document":
                parts.append("d.name IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(wanted))
            elif key == "path":
                parts.append("d.id IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(self._documents_at(wanted)))
            elif key == "collection":
                parts.append("d.collection IN (SELECT k.id FROM collections k JOIN json_each(?) j ON k.name = j.value)")
                values.append(json.dumps(wanted))
            else:
                facet = "tag" if key == "tags" else key.casefold()
                low = json.dumps([value.casefold() for value in wanted])
                parts.append(
                    "(d.id IN (SELECT f.document FROM facets f JOIN json_each(?) j ON f.value = j.value"
                    " WHERE f.key = ?) OR d.collection IN (SELECT k.id FROM collections k, json_each(k.metadata) m"
                    " WHERE lower(m.key) = ? AND lower(m.value) IN (SELECT value FROM json_each(?))))"
                )
                values += [low, facet, facet, low]
        if condition.since is not None:
            parts.append("d.modified >= ?")
            values.append(condition.since.timestamp())
        if condition.before is not None:
            parts.append("d.modified < ?")
            values.append(condition.before.timestamp())
        return " AND ".join(parts), values

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        """The first chunk of each document that satisfies the condition, the last changed first."""
        where, values = self._where(condition)
        found = self._ask(
            "SELECT c.id FROM documents d JOIN chunks c ON c.document = d.id"
            " AND c.ordinal = (SELECT min(o.ordinal) FROM chunks o WHERE o.document = d.id)"
            f" {'WHERE ' + where if where else ''} ORDER BY d.modified DESC, d.name LIMIT ?",
            [*values, limit],
        )
        return [chunk for (chunk,) in found]

    def _documents_at(self, globs: tuple[str, ...]) -> list[int]:
        from watersmeet.core.globs import pattern

        rules = [rule for rule in (pattern(glob, may_negate=False) for glob in globs) if rule]
        return [
            key
            for key, name in self._ask("SELECT id, name FROM documents")
            if any(rule.matches(name.rpartition("/")[2], name, False) for rule in rules)
        ]

    # ------------------------------------------------------------ reading

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        found = self._ask(f"{_PASSAGE} JOIN json_each(?) j ON c.id = j.value", [json.dumps(list(ids))])
        return {row[0]: _passage(row) for row in found}

    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]:
        return dict(
            self._ask(
                "SELECT c.id, d.name FROM json_each(?) j JOIN chunks c ON c.id = j.value"
                " JOIN documents d ON d.id = c.document",
                [json.dumps(list(ids))],
            )
        )

    def dates_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, datetime]:
        """When the document of each chunk was last changed, where that is known."""
        found = self._ask(
            "SELECT c.id, d.modified FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            " JOIN documents d ON d.id = c.document WHERE d.modified IS NOT NULL",
            [json.dumps(list(ids))],
        )
        return {chunk: datetime.fromtimestamp(stamp, UTC) for chunk, stamp in found}

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        """Each chunk with so many chunks before and after it, in reading order."""
        found = self._ask(
            _PASSAGE.replace("SELECT", "SELECT m.id,", 1) + " JOIN chunks m ON m.document = c.document"
            " AND c.ordinal BETWEEN m.ordinal - ? AND m.ordinal + ? JOIN json_each(?) j ON m.id = j.value"
            " ORDER BY c.document, c.ordinal",
            [before, after, json.dumps(list(ids))],
        )
        sides: dict[ChunkId, list[Passage]] = {}
        for middle, *row in found:
            sides.setdefault(middle, []).append(_passage(row))
        return sides

    def parents(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        """The first chunk of the section that each chunk's section lies in, if that says anything itself."""
        found = self._ask(
            _PASSAGE.replace("SELECT", "SELECT m.id,", 1) + " JOIN chunks m ON m.document = c.document"
            " AND json_array_length(m.headings) > 0"
            " AND json(c.headings) = json_remove(m.headings, '$[#-1]') JOIN json_each(?) j ON m.id = j.value"
            " ORDER BY c.document, c.ordinal DESC",
            [json.dumps(list(ids))],
        )
        return {child: _passage(row) for child, *row in found}

    def passages_of(self, document: DocId) -> list[Passage]:
        return [_passage(row) for row in self._ask(f"{_PASSAGE} WHERE d.name = ? ORDER BY c.ordinal", [document])]

    def records(self) -> list[Record]:
        return [_record(row) for row in self._ask(f"{_RECORD} ORDER BY d.name")]

    def record(self, document: DocId) -> Record | None:
        found = self._ask(f"{_RECORD} WHERE d.name = ?", [document])
        return _record(found[0]) if found else None

    def links(self, document: DocId) -> list[Link]:
        from watersmeet.core.pages import Link

        found = self._ask(
            "SELECT l.target, l.type, l.heading, l.alias FROM links l JOIN documents d ON d.id = l.document"
            " WHERE d.name = ? ORDER BY l.rowid",
            [document],
        )
        return [Link(*row) for row in found]

    def edges(self, document: DocId) -> list[tuple[DocId, DocId, str]]:
        """Links from and to a document, as (from, to, type), each resolved to the document closest in name."""
        sql = (
            "SELECT s.name, t.name, l.type, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document"
            " WHERE {} AND s.id <> t.id"
        )
        leaving = self._ask(sql.format("s.name = ?"), [document])
        coming = self._ask(
            sql.format("l.key IN (SELECT m.key FROM names m JOIN documents d ON d.id = m.document WHERE d.name = ?)"),
            [document],
        )
        return [edge for edge in _closest([*leaving, *coming]) if document in edge[:2]]

    def anchors(self) -> list[tuple[DocId, DocId, str]]:
        """Links with a text of their own, as (from, to, text), resolved likewise."""
        found = self._ask(
            "SELECT s.name, t.name, l.alias, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document"
            " WHERE l.alias <> '' AND s.id <> t.id"
        )
        return _closest(found)

    def degree(self, document: DocId) -> int:
        """How many links leave or may reach a document."""
        found: int = self._ask(
            "SELECT (SELECT count(*) FROM links l WHERE l.document = d.id) + (SELECT count(*) FROM links l"
            " JOIN names n ON n.key = l.key WHERE n.document = d.id) FROM documents d WHERE d.name = ?",
            [document],
        )[0][0]
        return found

    def first_chunk(self, document: DocId) -> ChunkId:
        found: ChunkId = self._ask(
            "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.name = ?"
            " ORDER BY c.ordinal LIMIT 1",
            [document],
        )[0][0]
        return found

    def texts(self, rows: Collection[Row]) -> list[tuple[Row, str, tuple[str, ...], str]]:
        """Row, title, headings and text of those rows that are live, in the order asked for."""
        found = self._ask(
            "SELECT c.row, d.title, c.headings, c.text FROM json_each(?) j JOIN chunks c ON c.row = j.value"
            " JOIN documents d ON d.id = c.document ORDER BY j.key",
            [json.dumps(list(rows))],
        )
        return [(row, title, tuple(json.loads(headings)), text) for row, title, headings, text in found]

    def fields(self) -> set[str]:
        """What there is to filter by, besides what every document has."""
        return {
            key
            for (key,) in self._ask(
                "SELECT key FROM facets UNION SELECT lower(m.key) FROM collections k, json_each(k.metadata) m"
            )
        }

    def count(self) -> int:
        """How many documents there are."""
        found: int = self._ask("SELECT count(*) FROM documents")[0][0]
        return found

    def live_rows(self) -> list[Row]:
        return [row for (row,) in self._ask("SELECT row FROM chunks ORDER BY row")]

    def statistics(self) -> dict[str, Any]:
        count = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks), (SELECT count(*) FROM dead)"
        documents, chunks, dead = self._ask(count)[0]
        return {
            "documents": documents,
            "chunks": chunks,
            "dead": dead,
            "kinds": dict(self._ask("SELECT kind, count(*) FROM documents GROUP BY kind ORDER BY kind")),
            "collections": dict(
                self._ask(
                    "SELECT k.name, count(d.id) FROM collections k LEFT JOIN documents d ON d.collection = k.id"
                    " GROUP BY k.id ORDER BY k.name"
                )
            ),
            "roots": [path for (path,) in self._ask("SELECT path FROM roots ORDER BY id")],
        }

    def meta(self) -> dict[str, str]:
        return dict(self._ask("SELECT key, value FROM meta"))

    def check(self) -> list[str]:
        """What SQLite finds wrong with its file; nothing, usually."""
        with self._lock:
            try:
                rows = self._db.execute("PRAGMA quick_check").fetchall()
            except sqlite3.DatabaseError as error:
                return [str(error)]
        return [text for (text,) in rows if text != "ok"]


def _closest(rows: list[tuple[DocId, DocId, str, str, int]]) -> list[tuple[DocId, DocId, str]]:
    """Of several documents that a link may mean: the same folder, then the closest name, then the shortest path."""
    best: dict[tuple[DocId, str, str], tuple[tuple[bool, int, int, str], DocId]] = {}
    for source, target, type, key, rank in rows:
        elsewhere = source.rpartition("/")[0] != target.rpartition("/")[0]
        order = (elsewhere, rank, len(target), target)
        link = (source, key, type)
        if link not in best or order < best[link][0]:
            best[link] = (order, target)
    return list({(source, target, type): None for (source, _, type), (_, target) in best.items()})


def _moment(stamp: float | None) -> datetime | None:
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC)


def _passage(row: Any) -> Passage:
    identity, document, kind, title, path, modified, headings, first, last, text = row
    return Passage(
        identity,
        document,
        kind,
        title,
        path,
        _moment(modified),
        tuple(json.loads(headings)),
        (first, last),
        text,
    )


def _record(row: Any) -> Record:
    document, kind, title, path, modified, collection, fields, chunks = row
    return Record(document, kind, title, path, _moment(modified), collection, json.loads(fields), chunks)
