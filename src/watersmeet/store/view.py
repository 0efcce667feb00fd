"""The reading side of the catalogue: one moment of it, inside a read transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.names import ALIAS
from watersmeet.core.tokens import words
from watersmeet.store._conditions import KEPT_OUT, lowered, where
from watersmeet.store._connect import connect, guarded
from watersmeet.store._facts import closest, statistics
from watersmeet.store._known import Known

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


T = TypeVar("T")
_FACETS = "SELECT key FROM facets"
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
        self._known = Known()
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
            if version != self.version or self._known.full:
                self._known = Known()
            self.version = version
            yield self
        finally:
            self._ask("COMMIT")

    def _ask(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        with self._lock, guarded(self._folder):
            return self._db.execute(sql, tuple(values)).fetchall()

    # ------------------------------------------------------------ the View port

    def resolve(self, rows: Collection[Row], condition: Condition) -> dict[Row, ChunkId]:
        where, values = self._where(condition)
        known = self._known
        ids = {} if where else {row: known.ids[row] for row in rows if row in known.ids}
        if len(ids) < len(rows):
            join = f"JOIN documents d ON d.id = c.document WHERE {where}" if where else ""
            found = self._ask(
                f"SELECT c.row, c.id, c.document FROM json_each(?) j JOIN chunks c ON c.row = j.value {join}",
                [json.dumps([row for row in rows if row not in ids]), *values],
            )
            known.add(found)
            ids.update({row: chunk for row, chunk, _ in found})
        return ids

    def rows(self, ids: Collection[ChunkId]) -> dict[ChunkId, Row]:
        return self._each(ids, lambda known: known.rows)

    def _each(self, ids: Collection[ChunkId], held: Callable[[Known], dict[ChunkId, T]]) -> dict[ChunkId, T]:
        """What is known of each of these chunks, one way or another."""
        known = held(self._known)
        try:
            return {chunk: known[chunk] for chunk in ids}
        except KeyError:  # one that was not asked for yet, or is not there
            known = held(self._met(ids))
            return {chunk: known[chunk] for chunk in ids if chunk in known}

    def _met(self, ids: Collection[ChunkId]) -> Known:
        """What is known, with these chunks in it, as far as there are such."""
        known = self._known
        others = [chunk for chunk in ids if chunk not in known.rows]
        if others:
            sql = "SELECT c.row, c.id, c.document FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            known.add(self._ask(sql, [json.dumps(others)]))
        return known

    def matching(self, condition: Condition, limit: int) -> list[Row] | None:
        key, remembered = f"{limit} {condition!r}", self._known.matching
        if key not in remembered:
            where, values = self._where(condition)
            found = self._ask(
                "SELECT c.row FROM chunks c JOIN documents d ON d.id = c.document"
                f" {'WHERE ' + where if where else ''} ORDER BY c.row LIMIT ?",
                [*values, limit + 1],
            )
            remembered[key] = None if len(found) > limit else [row for (row,) in found]
        return remembered[key]

    def _where(self, condition: Condition) -> tuple[str, list[Any]]:
        return where(condition, self._documents_at, self._kept_out, self._kinds)

    def _kinds(self) -> frozenset[str]:
        known = self._known
        if known.kinds is None:
            known.kinds = frozenset(kind for (kind,) in self._ask("SELECT DISTINCT kind FROM documents"))
        return known.kinds

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Those of the gates that keep anything out; in an index without a registry, none."""
        return {key: allowed for key, allowed in gates.items() if self._kept_out(key, allowed)}

    def _kept_out(self, key: str, allowed: Sequence[str]) -> list[int]:
        gate, remembered = (key, *allowed), self._known.kept_out
        if gate not in remembered:
            low = lowered(allowed)
            remembered[gate] = [document for (document,) in self._ask(KEPT_OUT, [key, low, low])]
        return remembered[gate]

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

    def _documents_at(self, globs: Sequence[str]) -> list[int]:
        """Every signal asks for the same ones: they are looked for once."""
        from watersmeet.core.globs import pattern

        wanted, remembered = tuple(dict.fromkeys(globs)), self._known.at
        if wanted not in remembered:
            rules = [rule for rule in (pattern(glob, may_negate=False) for glob in wanted) if rule]
            remembered[wanted] = [
                key
                for key, name in self._ask("SELECT id, name FROM documents")
                if any(rule.matches(name.rpartition("/")[2], name, False) for rule in rules)
            ]
        return remembered[wanted]

    # ------------------------------------------------------------ reading

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        found = self._ask(f"{_PASSAGE} JOIN json_each(?) j ON c.id = j.value", [json.dumps(list(ids))])
        return {row[0]: _passage(row) for row in found}

    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]:
        owned, known = self.owners_of(ids), self._known
        nameless = set(owned.values()).difference(known.names)
        if nameless:
            sql = "SELECT d.id, d.name FROM json_each(?) j JOIN documents d ON d.id = j.value"
            known.names.update(self._ask(sql, [json.dumps(list(nameless))]))
        return {chunk: known.names[document] for chunk, document in owned.items()}

    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        return self._each(ids, lambda known: known.owners)

    def called(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """The words of what each document goes by besides its title: the name of its file, its aliases, its tags."""
        known = self._known.called
        others = [document for document in documents if document not in known]
        if others:
            found: dict[DocId, list[str]] = {document: [] for document in others}
            for document, name in self._ask(
                "WITH d AS (SELECT d.id, d.name FROM json_each(?) j JOIN documents d ON d.name = j.value)"
                " SELECT d.name, n.key FROM d JOIN names n ON n.document = d.id"
                " WHERE n.rank = ? OR instr(n.key, '/') = 0"
                " UNION ALL SELECT d.name, f.value FROM d JOIN facets f ON f.document = d.id AND f.key = 'tag'",
                [json.dumps(others), ALIAS],
            ):
                found[document] += words(name)
            known.update({document: frozenset(names) for document, names in found.items()})
        return {document: known[document] for document in documents}

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        """How many documents carry each tag, those of some kinds left out."""
        where, values = self._where(condition)
        found = self._ask(
            "SELECT f.value, count(*) FROM facets f JOIN documents d ON d.id = f.document WHERE f.key = 'tag'"
            f" AND d.kind NOT IN (SELECT value FROM json_each(?)) {'AND ' + where if where else ''} GROUP BY f.value",
            [json.dumps(list(without)), *values],
        )
        return dict(found)

    def collections_of(self, documents: Collection[str]) -> set[str]:
        """The collections that documents are in."""
        found = self._ask(
            "SELECT DISTINCT k.name FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " JOIN collections k ON k.id = d.collection",
            [json.dumps(list(documents))],
        )
        return {name for (name,) in found}

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

    def records(self, condition: Condition = ANY) -> list[Record]:
        """All documents that satisfy the condition."""
        where, values = self._where(condition)
        return [_record(row) for row in self._ask(f"{_RECORD} WHERE {where or 'true'} ORDER BY d.name", values)]

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None:
        where, values = self._where(condition)
        found = self._ask(f"{_RECORD} WHERE d.name = ? AND {where or 'true'}", [document, *values])
        return _record(found[0]) if found else None

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        """Those of the documents that are there and satisfy the condition."""
        where, values = self._where(condition)
        sql = f"SELECT d.name FROM json_each(?) j JOIN documents d ON d.name = j.value WHERE {where or 'true'}"
        return {name for (name,) in self._ask(sql, [json.dumps(list(documents)), *values])}

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
        return [edge for edge in closest([*leaving, *coming]) if document in edge[:2]]

    def anchors(self) -> list[tuple[DocId, DocId, str]]:
        """Links with a text of their own, as (from, to, text), resolved likewise."""
        found = self._ask(
            "SELECT s.name, t.name, l.alias, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document"
            " WHERE l.alias <> '' AND s.id <> t.id"
        )
        return closest(found)

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

    def fields(self, condition: Condition = ANY) -> set[str]:
        """What there is to filter by, besides what every document has."""
        where, values = self._where(condition)
        own = f"SELECT key FROM facets f JOIN documents d ON d.id = f.document WHERE {where}" if where else _FACETS
        return {
            key
            for (key,) in self._ask(
                f"{own} UNION SELECT casefold(m.key) FROM collections k, json_each(k.metadata) m", values
            )
            if not key.startswith("@")
        }

    def count(self) -> int:
        """How many documents there are."""
        found: int = self._ask("SELECT count(*) FROM documents")[0][0]
        return found

    def live_rows(self) -> list[Row]:
        return [row for (row,) in self._ask("SELECT row FROM chunks ORDER BY row")]

    def statistics(self, condition: Condition = ANY) -> dict[str, Any]:
        return statistics(self._ask, *self._where(condition))

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
