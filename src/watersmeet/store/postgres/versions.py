"""Versions of documents as lines of the tables, and the points of their chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import mentions
from watersmeet.core.documents import Document
from watersmeet.core.entities import TOOL, entity_of, is_entity, not_embedded
from watersmeet.core.facets import audience_labels, facets_of
from watersmeet.core.model import DocId
from watersmeet.core.names import ALIAS, CREATED, CUSTOM, WORDS_ONLY, link_key, names_of
from watersmeet.core.text_fields import description
from watersmeet.core.tokens import words
from watersmeet.core.visibility import AUDIENCE_GATE, is_restricted, restricted_to
from watersmeet.core.writing import Put
from watersmeet.store.local._text import plain
from watersmeet.store.postgres.conditions import GATED, filters_of
from watersmeet.store.postgres.pool import copy
from watersmeet.store.qdrant.bm25 import FIELDS, counted, weights
from watersmeet.store.qdrant.points import FILTERS, MODIFIED, Point

if TYPE_CHECKING:
    from watersmeet.core.visibility import Audience
    from watersmeet.store.postgres.pool import Db

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
DOCUMENT = (
    "key, name, file, kind, title, path, modified, created, collection, fields, facets, filters, called, known,"
    " aliases, title_key, audience, first_chunk, record, hash, chunks, bytes, born"
)
CHUNK = "row, id, document, ordinal, headings, place, text, hash, terms, fields, counts, lengths, born"


def as_json(value: Any) -> str:
    """JSON that PostgreSQL accepts: without NUL and lone surrogates."""
    return _NUL.sub(r"\1?", plain(json.dumps(value, ensure_ascii=False, default=str)))


@dataclass(slots=True)
class ChunkVersion:
    """A chunk to be stored under a row. `before`: the row whose vectors it takes over. `stores`: those where its point
    has one of them."""

    id: str
    headings: str
    place: str
    text: str
    hash: bytes
    terms: list[int]
    fields: list[int]
    counts: list[int]
    lengths: list[int]
    row: int = 0
    before: int | None = None
    stores: set[str] = field(default_factory=set)

    def point(self, averages: Sequence[float], payload: Mapping[str, Any]) -> Point:
        import numpy as np

        counted_terms = np.column_stack((self.terms, self.fields, self.counts))
        lengths = dict(enumerate(self.lengths))
        return Point(self.row, weights(counted_terms, lengths, dict(enumerate(averages))), payload)


@dataclass(slots=True)
class DocumentVersion:
    """A document to be stored, with its chunks. `labels`: who may see it; none: everyone."""

    name: str
    file: tuple[int, str] | None
    kind: str
    title: str
    path: str
    modified: datetime | None
    created: str
    collection: str
    fields: str
    facets: list[tuple[str, str]]
    filters: list[str]
    called: list[str]
    known: list[str]
    aliases: list[str]
    title_key: str
    labels: tuple[str, ...] | None
    record: str
    hash: bytes
    names: list[tuple[str, int]]
    links: list[tuple[str, str, str, str, str]]
    mentions: list[tuple[str, str, str]]
    chunks: list[ChunkVersion] = field(default_factory=list)
    replaces: set[str] = field(default_factory=set)
    file_id: int | None = None
    audience: int = 0

    @property
    def bytes(self) -> int:
        return sum(len(chunk.text.encode()) for chunk in self.chunks)

    @property
    def gates(self) -> list[tuple[str, str]]:
        """Values of gates other than the audience's, which is counted by itself."""
        return sorted({(key, value) for key, value in self.facets if key.startswith("@") and key != AUDIENCE_GATE})

    @property
    def payload(self) -> dict[str, Any]:
        return {FILTERS: self.filters, **({MODIFIED: self.modified.timestamp()} if self.modified else {})}

    def line(self, key: int, born: int) -> tuple[Any, ...]:
        first = self.chunks[0].id if self.chunks else None
        head = (key, self.name, self.file_id, self.kind, self.title, self.path, self.modified, self.created)
        found_by = (self.collection, self.fields, as_json(self.facets), self.filters, self.called, self.known)
        rest = (self.aliases, self.title_key, self.audience, first, self.record, self.hash)
        return (*head, *found_by, *rest, len(self.chunks), self.bytes, born)


def version_of(put: Put, collection: str) -> DocumentVersion:
    """What is stored of a document. The numbers of its terms are filled in by `number_terms`."""
    d = put.document
    record = d.fields.get("record") if isinstance(d.fields.get("record"), dict) else {}
    created = d.created.isoformat() if d.created else ""
    facets = sorted({(plain(key), plain(value)) for key, value in facets_of(d)})
    names = names_of(d.id, d.aliases)
    called = [name for name, rank in names.items() if rank == ALIAS or "/" not in name]
    called += [value for name, value in facets if name == "tag"]
    known = _words_only(d, record or {})
    fields = {**d.fields, **({CREATED: created} if created else {})}
    return DocumentVersion(
        plain(d.id),
        put.file,
        d.kind,
        plain(d.title),
        plain(d.path),
        d.modified,
        created,
        collection,
        as_json(fields),
        facets,
        [plain(one) for one in filters_of(d, collection)],
        sorted({plain(word) for one in called for word in words(one)}),
        sorted({plain(word) for word in words(str(known))}) if known else [],
        [plain(name) for name, rank in names.items() if rank == ALIAS],
        plain(link_key(DocId(""), d.title, "wiki")),
        _labels(d),
        as_json(record or {}),
        put.hash,
        [(plain(name), rank) for name, rank in names.items()],
        [
            tuple(map(plain, (link_key(d.id, k.target, k.type), k.target, k.type, k.heading, k.alias)))  # type: ignore[misc]
            for k in d.links
        ],
        list(_mentions(d)),
        [],
        {plain(d.id), plain(put.moved_from or d.id)},
    )


def _words_only(document: Document, record: dict[str, Any]) -> Any:
    """What a document is found by and that is in no text."""
    if document.kind.startswith(CUSTOM):
        return not_embedded(entity_of(record)) if record else ""
    return record.get("metadata", {}).get(WORDS_ONLY.get(document.kind, "")) or description(document.fields)


def _labels(document: Document) -> tuple[str, ...] | None:
    if not is_restricted(document.fields):
        return None
    return tuple(sorted({value for key, value in facets_of(document) if key == AUDIENCE_GATE}))


def _mentions(document: Document) -> Iterator[tuple[str, str, str]]:
    record = document.fields.get("record")
    if isinstance(record, dict) and is_entity(document.kind) and document.kind != TOOL:
        for word, places in mentions(entity_of(record)).items():
            yield document.kind, plain(word), f"{places:x}"


def add_chunks(db: Db, versions: Sequence[tuple[DocumentVersion, Put]], known: dict[tuple[int, str], int]) -> None:
    """Add the chunks to their documents, with the numbers of their terms; `known` are those of earlier ones."""
    said = [(version, one, counted(one.fields)) for version, put in versions for one in put.chunks]
    found = {
        (place, token) for *_, counts in said for place, name in enumerate(FIELDS) for token in counts.get(name, ())
    }
    number_terms(db, [one for one in found if one not in known], known)
    for version, prepared, counts in said:
        chunk = prepared.chunk
        rows = [
            (known[place, token], place, count)
            for place, name in enumerate(FIELDS)
            for token, count in counts.get(name, {}).items()
        ]
        numbers, fields, times = ([row[at] for row in rows] for at in range(3))
        lengths = [counts[name].total() if name in counts else 0 for name in FIELDS]
        place = as_json(asdict(chunk.place))
        heads = as_json(chunk.headings)
        version.chunks.append(
            ChunkVersion(
                plain(chunk.id), heads, place, plain(chunk.text), prepared.hash, numbers, fields, times, lengths
            )
        )


def number_terms(db: Db, new: Sequence[tuple[int, str]], known: dict[tuple[int, str], int]) -> None:
    """Add the numbers of these terms to `known`. New ones get theirs in a transaction of its own: they keep it."""
    for start in range(0, len(new), 20_000):
        part = sorted(new[start : start + 20_000])  # in one order for all writers
        _learn(db, part, known)
        missing = [one for one in part if one not in known]
        if missing:
            given = "unnest(%s::smallint[], %s::text[])"
            sql = f"INSERT INTO terms (field, text) SELECT * FROM {given} ON CONFLICT DO NOTHING"
            db.execute(sql, [[place for place, _ in missing], [text for _, text in missing]])
            _learn(db, missing, known)


def _learn(db: Db, terms: Sequence[tuple[int, str]], known: dict[tuple[int, str], int]) -> None:
    given = "unnest(%s::smallint[], %s::text[])"
    sql = f"SELECT t.field, t.text, t.number FROM terms t JOIN {given} n (field, text) USING (field, text)"
    found = db.execute(sql, [[place for place, _ in terms], [text for _, text in terms]])
    known.update({(place, text): number for place, text, number in found})


# ---------------------------------------------------------------- stored versions, to be stored again


def stored_versions(db: Db, names: Collection[str]) -> dict[str, DocumentVersion]:
    """Live documents as they are stored. Each of their chunks takes over the vectors of its row."""
    rows = db.execute(
        "SELECT d.key, d.name, d.file, d.kind, d.title, d.path, d.modified, d.created, d.collection, d.fields::text,"
        " d.facets, d.filters, d.called, d.known, d.aliases, d.title_key, a.labels, d.record::text, d.hash,"
        " f.root, f.name FROM documents d LEFT JOIN audiences a ON a.number = d.audience"
        " LEFT JOIN files f ON f.id = d.file WHERE d.died IS NULL AND d.name = ANY(%s)",
        [list(names)],
    ).fetchall()
    found: dict[int, DocumentVersion] = {}
    for key, name, file, kind, title, path, modified, created, collection, fields, facets, *rest in rows:
        filters, called, known, aliases, title_key, labels, record, hash, root, file_name = rest
        where = (root, file_name) if root is not None else None
        given = (name, where, kind, title, path, modified, created, collection, fields)
        words_of = ([(one, value) for one, value in facets], filters, called, known, aliases, title_key)
        who = tuple(labels) if labels is not None else None
        found[key] = DocumentVersion(*given, *words_of, who, record, bytes(hash), [], [], [], [], {name}, file)
    keys = list(found)
    for key, name, rank in db.execute("SELECT document, key, rank FROM names WHERE document = ANY(%s)", [keys]):
        found[key].names.append((name, rank))
    sql = "SELECT document, key, target, type, heading, alias FROM links WHERE document = ANY(%s) ORDER BY ordinal"
    for key, *link in db.execute(sql, [keys]):
        found[key].links.append(tuple(link))
    for key, *mention in db.execute(
        "SELECT document, kind, word, places FROM mentions WHERE document = ANY(%s)", [keys]
    ):
        found[key].mentions.append(tuple(mention))
    sql = (
        "SELECT document, row, id, headings::text, place::text, text, hash, terms, fields, counts, lengths FROM chunks"
        " WHERE document = ANY(%s) ORDER BY document, ordinal"
    )
    for key, row, *chunk in db.execute(sql, [keys]):
        chunk[4] = bytes(chunk[4])
        stored = ChunkVersion(*chunk)
        stored.before = row
        found[key].chunks.append(stored)
    return {one.name: one for one in found.values()}


def dated(version: DocumentVersion, modified: datetime | None, created: datetime | None) -> DocumentVersion:
    fields = {key: value for key, value in json.loads(version.fields).items() if key != CREATED or not created}
    fields |= {CREATED: created.isoformat()} if created else {}
    text = created.isoformat() if created else version.created
    return replace(version, modified=modified, created=text, fields=as_json(fields))


def collected(version: DocumentVersion, collection: str) -> DocumentVersion:
    """The document in another collection."""
    kept = [one for one in version.filters if one != f"collection={version.collection.casefold()}"]
    return replace(version, collection=collection, filters=sorted([*kept, f"collection={collection.casefold()}"]))


def restricted(version: DocumentVersion, audience: Audience) -> DocumentVersion:
    """The document in a collection with this audience."""
    fields = restricted_to(json.loads(version.fields), audience)
    stated = [value for key, value in fields.items() if key.casefold() == AUDIENCE_GATE]
    labels = sorted({plain(label) for value in stated for label in audience_labels(value)})
    facets = [one for one in version.facets if one[0] != AUDIENCE_GATE] + [(AUDIENCE_GATE, label) for label in labels]
    gate, listed = f"{GATED}{AUDIENCE_GATE}", f"{AUDIENCE_GATE}="
    filters = [one for one in version.filters if one != gate and not one.startswith(listed)]
    filters += [gate, *(f"{listed}{label}" for label in labels)] if labels else []
    return replace(
        version,
        fields=as_json(fields),
        facets=sorted(facets),
        filters=sorted(filters),
        labels=tuple(labels) if is_restricted(fields) else None,
    )


# ---------------------------------------------------------------- into the tables


def insert(db: Db, versions: Sequence[DocumentVersion], born: int) -> None:
    keys = _keys(db, len(versions))
    lines = list(zip(keys, versions, strict=True))
    copy(db, "documents", DOCUMENT, [version.line(key, born) for key, version in lines])
    chunks = [
        (c.row, c.id, key, n, c.headings, c.place, c.text, c.hash, c.terms, c.fields, c.counts, c.lengths, born)
        for key, version in lines
        for n, c in enumerate(version.chunks)
    ]
    copy(db, "chunks", CHUNK, chunks)
    copy(db, "names", "document, key, rank", [(key, *name) for key, version in lines for name in version.names])
    links = [(key, n, *link) for key, version in lines for n, link in enumerate(version.links)]
    copy(db, "links", "document, ordinal, key, target, type, heading, alias", links)
    mentioned = [(key, *mention) for key, version in lines for mention in version.mentions]
    copy(db, "mentions", "document, kind, word, places", mentioned)


def _keys(db: Db, count: int) -> list[int]:
    sql = "SELECT nextval(pg_get_serial_sequence('documents', 'key')) FROM generate_series(1, %s)"
    return [key for (key,) in db.execute(sql, [count])]


def number_audiences(db: Db, versions: Iterable[DocumentVersion]) -> None:
    """The number of those who may see each document; audiences are never forgotten."""
    known: dict[tuple[str, ...], int] = {}
    for version in versions:
        if version.labels is None:
            version.audience = 0
            continue
        if version.labels not in known:
            sql = (
                "INSERT INTO audiences (labels) VALUES (%s) ON CONFLICT (labels) DO UPDATE SET labels = excluded.labels"
                " RETURNING number"
            )
            known[version.labels] = int(db.execute(sql, [list(version.labels)]).fetchall()[0][0])
        version.audience = known[version.labels]
