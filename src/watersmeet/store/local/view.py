"""The reading side of the catalogue: one moment of it, inside a read transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.names import ALIAS, WORDS_ONLY
from watersmeet.core.pages import CREATED
from watersmeet.core.tokens import words
from watersmeet.core.viewers import AUDIENCE_GATE
from watersmeet.store.local._conditions import KEPT_OUT, lowered, where
from watersmeet.store.local._connect import connect, guarded
from watersmeet.store.local._facts import statistics
from watersmeet.store.local._known import Known
from watersmeet.store.local._links import resolved
from watersmeet.store.local._paths import Paths, paths_of
from watersmeet.store.local._places import place_of
from watersmeet.store.local._sums import (
    CHUNK,
    HEAD,
    checked_meta,
    chunk_is_sound,
    damage,
    fields_are_sound,
    head_is_sound,
)
from watersmeet.store.local._withheld import ASIDE, SHARED

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
_NOT_HIDDEN = "NOT IN (SELECT value FROM json_each(?))"
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
REREAD = "`watersmeet sync` reads it again"


class SqliteView:
    """Use it inside `with view.moment():`; threads of one query may share it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._db = connect(folder)
        self._paths: Paths | None = None
        self._lock = Lock()
        self._known = Known()
        self.damaged: dict[str, None] = {}
        """What was met in this moment that is not as it was written, and was left out: names of documents."""
        self.version = -1
        """Changes whenever another connection has committed something."""

    def close(self) -> None:
        with self._lock:  # a signal that came too late for its query may still be reading: SQLite would crash
            self._db.close()

    @contextmanager
    def moment(self) -> Iterator[SqliteView]:
        """Hold the catalogue still; what is committed meanwhile is not seen until the next moment."""
        self._ask("BEGIN")
        try:
            self._ask("SELECT 1 FROM meta LIMIT 1")  # a transaction begins with its first read
            version = self._ask("PRAGMA data_version")[0][0]
            self.damaged = {}
            if version != self.version or self._known.full:
                self._known = Known()
                self._paths = None
            self.version = version
            yield self
        finally:
            self._ask("COMMIT")

    def _ask(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        with self._lock, guarded(self._folder):
            return self._db.execute(sql, tuple(values)).fetchall()

    @property
    def paths(self) -> Paths:
        """How the catalogue's paths are to be understood: a writer may change what they are relative to."""
        if self._paths is None:
            with self._lock, guarded(self._folder):
                self._paths = paths_of(self._folder, self._db)
        return self._paths

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
        """Those of the gates that keep out anything that the viewer may see; without a registry, none."""
        hidden = set(self._kept_out(AUDIENCE_GATE, gates[AUDIENCE_GATE])) if AUDIENCE_GATE in gates else set()
        return {
            key: allowed
            for key, allowed in gates.items()
            if (hidden if key == AUDIENCE_GATE else not hidden.issuperset(self._kept_out(key, allowed)))
        }

    def _hidden(self, seen: Condition) -> str:
        """The keys of the documents that a viewer may not see, as JSON."""
        return json.dumps([key for gate, allowed in seen.gates.items() for key in self._kept_out(gate, allowed)])

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
        passages = [self._passage(row) for row in found]
        if len(passages) < len(ids) and len(found) < len(self.rows(ids)):  # an index of the catalogue has lost it
            self.damaged["a chunk that is found and is not there"] = None
        return {passage.id: passage for passage in passages if passage is not None}

    def _passage(self, row: Sequence[Any]) -> Passage | None:
        """None if it is not what was written."""
        created, file, chunk, document, *said, name, kind, title, path, modified = row
        identity, headings, first, last, text, spot = said
        sound = chunk_is_sound(chunk, *said)
        if sound and head_is_sound(document, name, kind, title, path, modified):
            with suppress(ValueError, TypeError):  # an older version wrote no sums to go by
                return Passage(
                    ChunkId(identity.decode()),
                    DocId(name.decode()),
                    kind.decode(),
                    title.decode(),
                    self._on_disk(path.decode(), file),
                    _moment(modified),
                    tuple(json.loads(headings)),
                    place_of(file, first, last, spot.decode()),
                    text.decode(),
                    created or "",
                )
        self.damaged[bytes(name or b"?").decode("utf8", "replace")] = None
        return None

    def _on_disk(self, path: str, file: int | None) -> str:
        """Where a document's file lies; of what is in no file, the path that it has in its registry."""
        return path if file is None else self.paths.on_disk(path)

    def sound(self) -> None:
        """Raise if something was left out that is damaged."""
        if self.damaged:
            raise IndexDamaged(f"{self._folder}: the catalogue is damaged in {', '.join(self.damaged)}", REREAD)

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

    def known_for(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """The words that entities are found by and that stand in no text: the registry of a skill, who made a virtual
        server."""
        found = self._ask(
            "SELECT d.name, json_extract(d.fields, '$.record.metadata.' || k.value) FROM json_each(?) j"
            " JOIN documents d ON d.name = j.value JOIN json_each(?) k ON k.key = d.kind",
            [json.dumps(list(documents)), json.dumps(WORDS_ONLY)],
        )
        return {document: frozenset(words(str(said))) for document, said in found if said}

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
            passage = self._passage(row)
            sides.setdefault(middle, []).extend([passage] if passage else [])
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
        return {child: passage for child, *row in found if (passage := self._passage(row))}

    def passages_of(self, document: DocId) -> list[Passage]:
        rows = self._ask(f"{_PASSAGE} WHERE d.name = ? ORDER BY c.ordinal", [document])
        return [passage for row in rows if (passage := self._passage(row))]

    def records(self, condition: Condition = ANY) -> list[Record]:
        """All documents that satisfy the condition."""
        where, values = self._where(condition)
        rows = self._ask(f"{_RECORD} WHERE {where or 'true'} ORDER BY d.name", values)
        return [record for row in rows if (record := self._record(row))]

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None:
        where, values = self._where(condition)
        found = self._ask(f"{_RECORD} WHERE d.name = ? AND {where or 'true'}", [document, *values])
        return self._record(found[0]) if found else None

    def _record(self, row: Sequence[Any]) -> Record | None:
        """None if it is not what was written."""
        hash, *head, fields, file, collection, chunks = row
        if head_is_sound(hash, *head) and fields_are_sound(hash, fields):
            with suppress(ValueError, TypeError):
                name, kind, title, path = (value.decode() for value in head[:4])
                path = self._on_disk(path, file)
                return Record(DocId(name), kind, title, path, _moment(head[4]), collection, json.loads(fields), chunks)
        self.damaged[bytes(head[0] or b"?").decode("utf8", "replace")] = None
        return None

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        """Those of the documents that are there and satisfy the condition."""
        where, values = self._where(condition)
        sql = f"SELECT d.name FROM json_each(?) j JOIN documents d ON d.name = j.value WHERE {where or 'true'}"
        return {name for (name,) in self._ask(sql, [json.dumps(list(documents)), *values])}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """The first chunk of each of these documents that the condition lets through."""
        if not documents:
            return {}
        where, values = self._where(condition)
        found = self._ask(
            "SELECT d.name, c.id FROM json_each(?) j JOIN documents d ON d.name = j.value"
            f" JOIN chunks c ON c.document = d.id AND c.ordinal = 0 WHERE {where or 'true'}",
            [json.dumps(list(documents)), *values],
        )
        return dict(found)

    def links(self, document: DocId) -> list[Link]:
        from watersmeet.core.pages import Link

        found = self._ask(
            "SELECT l.target, l.type, l.heading, l.alias FROM links l JOIN documents d ON d.id = l.document"
            " WHERE d.name = ? ORDER BY l.rowid",
            [document],
        )
        return [Link(*row) for row in found]

    def edges(self, document: DocId, seen: Condition = ANY) -> list[tuple[DocId, DocId, str]]:
        """Links from and to a document, as (from, to, type), each resolved to the document closest in name of those
        that are seen."""
        sql = (
            "SELECT s.name, t.name, l.type, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document"
            f" WHERE {{}} AND s.id <> t.id AND s.id {_NOT_HIDDEN} AND t.id {_NOT_HIDDEN}"
        )
        hidden = self._hidden(seen)
        leaving = self._ask(sql.format("s.name = ?"), [document, hidden, hidden])
        coming = self._ask(
            sql.format("l.key IN (SELECT m.key FROM names m JOIN documents d ON d.id = m.document WHERE d.name = ?)"),
            [document, hidden, hidden],
        )
        return [edge for edge in resolved([*leaving, *coming]) if document in edge[:2]]

    def anchors(self) -> list[tuple[DocId, DocId, str]]:
        """Links with a text of their own, as (from, to, text), resolved likewise."""
        found = self._ask(
            "SELECT s.name, t.name, l.alias, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
            " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document"
            " WHERE l.alias <> '' AND s.id <> t.id"
        )
        return resolved(found)

    def degree(self, document: DocId, seen: Condition = ANY) -> int:
        """How many links leave a document, or may reach it from one that is seen."""
        found: int = self._ask(
            "SELECT (SELECT count(*) FROM links l WHERE l.document = d.id) + (SELECT count(*) FROM links l"
            f" JOIN names n ON n.key = l.key WHERE n.document = d.id AND l.document {_NOT_HIDDEN})"
            " FROM documents d WHERE d.name = ?",
            [self._hidden(seen), document],
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
        """Row, title, headings and text of those rows that are live and sound, in the order asked for."""
        sql = _PASSAGE.replace("SELECT", "SELECT c.row,", 1) + " JOIN json_each(?) j ON c.row = j.value ORDER BY j.key"
        found = self._ask(sql, [json.dumps(list(rows))])
        passages = [(row, self._passage(values)) for row, *values in found]
        return [(row, one.title, one.headings, one.text) for row, one in passages if one is not None]

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

    def count(self, seen: Condition = ANY) -> int:
        """How many documents there are."""
        where, values = self._where(seen)
        found: int = self._ask(f"SELECT count(*) FROM documents d {'WHERE ' + where if where else ''}", values)[0][0]
        return found

    def live_rows(self, seen: Condition = ANY) -> list[Row]:
        where, values = self._where(seen)
        joined = f"JOIN documents d ON d.id = c.document WHERE {where}" if where else ""
        return [row for (row,) in self._ask(f"SELECT c.row FROM chunks c {joined} ORDER BY c.row", values)]

    def text_bytes(self, seen: Condition = ANY) -> int:
        """How long all texts are."""
        where, values = self._where(seen)
        joined = f"JOIN documents d ON d.id = c.document WHERE {where}" if where else ""
        found: int = self._ask(f"SELECT coalesce(sum(length(CAST(c.text AS BLOB))), 0) FROM chunks c {joined}", values)[
            0
        ][0]
        return found

    def withholds(self) -> bool:
        """Whether the words of any row are kept here, and in no text store."""
        return bool(self._ask("SELECT 1 FROM sqlite_master WHERE name = 'withheld'"))

    def shared(self) -> int:
        """How many live rows the text store must have."""
        found: int = self._ask(SHARED + (ASIDE if self.withholds() else ""))[0][0]
        return found

    def sample(self, most: int, seen: Condition = ANY) -> list[Row]:
        """At most so many live rows, by chance but always the same: ids are hashes, and do not tell of any history."""
        where, values = self._where(seen)
        joined = f"JOIN documents d ON d.id = c.document WHERE {where}" if where else ""
        sql = f"SELECT c.row FROM chunks c {joined} ORDER BY c.id LIMIT ?"
        return [row for (row,) in self._ask(sql, [*values, most])]

    def statistics(self, condition: Condition = ANY) -> dict[str, Any]:
        return {**statistics(self._ask, *self._where(condition)), "roots": self.roots()}

    def roots(self) -> list[str]:
        """Where the folders and files lie that the index covers."""
        return [self.paths.on_disk(path) for (path,) in self._ask("SELECT path FROM roots ORDER BY id")]

    def meta(self) -> dict[str, str]:
        return checked_meta(dict(self._ask("SELECT key, value FROM meta")), self._folder)

    def check(self) -> list[str]:
        """What is wrong with the file; nothing, usually."""
        with self._lock:
            return damage(self._db)


def _moment(stamp: float | None) -> datetime | None:
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC)
