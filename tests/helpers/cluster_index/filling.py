"""Filling a cluster: the one writer of the draft. Each call is one commit, and publishes statistics of what it left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np
import psycopg

from bm25 import FIELDS, tokens_of
from cluster_index.index import Cluster
from cluster_index.pushed import filters_of
from cluster_index.qdrant import FILTERS, MODIFIED, WORDS, sparse
from cluster_index.snapshot import AUDIENCES
from cluster_index.terms import weights
from watersmeet.core.boosts import mentions
from watersmeet.core.documents import Chunk, Document
from watersmeet.core.entities import KINDS, entity_of
from watersmeet.core.facets import facets_of
from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.names import ALIAS, CREATED, WORDS_ONLY, link_key, names_of
from watersmeet.core.sparse import Weighted
from watersmeet.core.text_fields import description
from watersmeet.core.tokens import words
from watersmeet.core.visibility import AUDIENCE_GATE, Audience, is_restricted, restricted_to
from watersmeet.testing.contracts.corpus import Given

LIVE = "died IS NULL"
Db = psycopg.Connection[Any]


class ClusterFilling:
    """`dimensions` are those of the tiers with vectors; a tier with weighted terms is called `sparse`."""

    def __init__(self, index: Cluster, dimensions: Mapping[str, int]) -> None:
        self.index, self._dimensions = index, dimensions
        self._term_numbers: dict[tuple[str, str], int] = {}
        self._given: dict[str, Given] = {}
        index.postgres.make()
        self._make_points(index.collection(0))

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        with self._commit() as (db, _):
            db.execute("UPDATE head SET collections = collections || %s", [json.dumps({name: metadata})])

    def restrict(self, name: str, audience: Audience) -> None:
        """For the draft, all documents of the collection are put again, in the commit that notes the audience."""
        given = [one for one in self._given.values() if one.collection == name]
        with self._commit() as (db, commit):
            db.execute("UPDATE head SET facts = facts || %s", [json.dumps({AUDIENCES: _with(db, name, audience)})])
            self._put(db, commit, given)

    def put(self, given: Sequence[Given]) -> None:
        """All rows are new; the vectors of what a document said before come along."""
        with self._commit() as (db, commit):
            self._put(db, commit, given)

    def _put(self, db: Db, commit: int, as_given: Sequence[Given]) -> None:
        self._given |= {one.document.id: one for one in as_given}
        audiences_now = _audiences(db)
        given = [_restricted(one, audiences_now.get(one.collection, ())) for one in as_given]
        self._bury(db, [one.document.id for one in given], commit)
        keys = _numbers(db, "documents_key_seq", len(given))
        audiences = {labels: _audience(db, labels) for labels in {_labels(one.document) for one in given}}
        lines = [
            _document(key, one, audiences[_labels(one.document)], commit) for key, one in zip(keys, given, strict=True)
        ]
        _copy(db, "documents", lines)
        for table, of in (("names", _names), ("links", _links), ("mentions", _mentions)):
            _copy(db, table, [line for key, one in zip(keys, given, strict=True) for line in of(key, one.document)])
        rows = self._put_chunks(db, keys, given, commit)
        db.execute(
            "INSERT INTO vectors SELECT v.tier, n.row, v.vector, v.terms, v.weights, v.born FROM chunks n"
            " JOIN chunks o ON o.id = n.id AND o.hash = n.hash AND o.died = n.born JOIN vectors v ON v.row = o.row"
            " WHERE n.born = %s",
            [commit],
        )
        if not db.execute(f"SELECT 1 FROM chunks WHERE {LIVE} AND born < %s LIMIT 1", [commit]).fetchone():
            db.execute("UPDATE head SET averages = %s", [json.dumps(_averages(db))])
        self._points(db, rows)

    def remove(self, documents: Collection[DocId]) -> None:
        for name in documents:
            self._given.pop(name, None)
        with self._commit() as (db, commit):
            self._bury(db, documents, commit)

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        with self._commit() as (db, commit):
            found = db.execute(f"SELECT id, row FROM chunks WHERE {LIVE} AND id = ANY(%s)", [list(vectors)]).fetchall()
            made = [(row, *_stored(vectors[ChunkId(chunk)])) for chunk, row in found]
            sql = "DELETE FROM vectors WHERE tier = %s AND row = ANY(%s)"
            db.execute(sql, [tier.name, [row for _, row in found]])
            _copy(db, "vectors", [(tier.name, *one, commit) for one in made])
            db.execute("UPDATE head SET tiers = tiers || %s", [json.dumps({tier.name: asdict(tier)})])
            vectors_of = _by_row((tier.name, *one) for one in made)
            points = [{"id": row, "vector": found} for row, found in vectors_of.items() if found]
            self.index.qdrant.add_vectors(self.index.collection(_generation(db)), points)

    def rebuild(self) -> None:
        """Points of what is live, in a collection of their own, with today's averages."""
        with self._commit() as (db, _):
            db.execute("UPDATE head SET generation = generation + 1, averages = %s", [json.dumps(_averages(db))])
            self._make_points(self.index.collection(_generation(db)))
            live = db.execute(f"SELECT row FROM chunks WHERE {LIVE} ORDER BY row").fetchall()
            self._points(db, [row for (row,) in live])

    def _make_points(self, collection: str) -> None:
        self.index.qdrant.make(collection, self._dimensions, (WORDS, "sparse"))

    def facts(self, facts: Mapping[str, str]) -> None:
        """What the index says of itself."""
        with self._commit() as (db, _):
            db.execute("UPDATE head SET facts = facts || %s", [json.dumps(dict(facts))])

    # ------------------------------------------------------------ one commit

    def _commit(self) -> _Commit:
        return _Commit(self.index)

    def _bury(self, db: Db, documents: Collection[str], commit: int) -> None:
        sql = f"UPDATE documents SET died = %s WHERE {LIVE} AND name = ANY(%s) RETURNING key"
        keys = [key for (key,) in db.execute(sql, [commit, list(documents)])]
        db.execute(f"UPDATE chunks SET died = %s WHERE {LIVE} AND document = ANY(%s)", [commit, keys])

    def _put_chunks(self, db: Db, keys: Sequence[int], given: Sequence[Given], commit: int) -> list[int]:
        said = [
            (key, n, chunk, text) for key, one in zip(keys, given, strict=True) for n, chunk, text in _numbered(one)
        ]
        counted = [{name: Counter(tokens_of(name, text[name])) for name in FIELDS} for _, _, _, text in said]
        terms = self._terms(db, {(name, token) for one in counted for name in FIELDS for token in one[name]})
        rows = _numbers(db, "rows", len(said))
        lines = []
        for row, (key, ordinal, chunk, text), counts in zip(rows, said, counted, strict=True):
            known = [(terms[name, token], name, count) for name in FIELDS for token, count in counts[name].items()]
            lengths = {name: sum(counts[name].values()) for name in FIELDS}
            hash = sha256("\0".join((*text.values(), chunk.text)).encode()).digest()
            place = (json.dumps(chunk.headings), json.dumps(asdict(chunk.place)), chunk.text, hash)
            words = (json.dumps(known), json.dumps(lengths), [term for term, _, _ in known])
            lines.append((row, chunk.id, key, ordinal, *place, *words, commit, None))
        _copy(db, "chunks", lines)
        return rows

    def _terms(self, db: Db, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The number of each (field, token)."""
        known = self._term_numbers
        new = [one for one in pairs if one not in known]
        if new:
            fields, texts = map(list, zip(*new, strict=True))
            given = "unnest(%s::text[], %s::text[])"
            db.execute(f"INSERT INTO terms (field, text) SELECT * FROM {given} ON CONFLICT DO NOTHING", [fields, texts])
            sql = f"SELECT field, text, number FROM terms JOIN {given} n (field, text) USING (field, text)"
            known.update({(name, text): number for name, text, number in db.execute(sql, [fields, texts])})
        return known

    def _points(self, db: Db, rows: Sequence[int]) -> None:
        ((averages, generation),) = db.execute("SELECT averages, generation FROM head").fetchall()
        made = _by_row(
            db.execute("SELECT tier, row, vector, terms, weights FROM vectors WHERE row = ANY(%s)", [list(rows)])
        )
        found = db.execute(
            "SELECT c.row, c.said, c.lengths, d.filters, d.modified FROM chunks c"
            " JOIN documents d ON d.key = c.document WHERE c.row = ANY(%s) ORDER BY c.row",
            [list(rows)],
        )
        points = []
        for row, said, lengths, filters, modified in found:
            terms = sparse(weights({term: (name, count) for term, name, count in said}, lengths, averages))
            payload = {FILTERS: filters, **({MODIFIED: modified.timestamp()} if modified else {})}
            points.append({"id": row, "vector": {WORDS: terms, **made.get(row, {})}, "payload": payload})
        self.index.qdrant.put(self.index.collection(generation), points)


class _Commit:
    """A transaction that has the next number; at its end the summary and the statistics are those of what is live."""

    def __init__(self, index: Cluster) -> None:
        self._connection = index.postgres.connection()

    def __enter__(self) -> tuple[Db, int]:
        self._db = self._connection.__enter__()
        self._db.execute("BEGIN")
        ((commit,),) = self._db.execute("UPDATE head SET commit = commit + 1 RETURNING commit").fetchall()
        return self._db, commit

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if error is None:
                _publish(self._db)
            self._db.execute("COMMIT" if error is None else "ROLLBACK")
        finally:
            self._connection.__exit__(kind, error, trace)


def _publish(db: Db) -> None:
    """A new epoch, and the summary: here of everything, by a job of its own where there is much."""
    ((epoch,),) = db.execute("UPDATE head SET epoch = epoch + 1 RETURNING epoch").fetchall()
    live = "FROM chunks c JOIN documents d ON d.key = c.document WHERE c.died IS NULL"
    db.execute(f"INSERT INTO epochs SELECT %s, d.audience, count(*) {live} GROUP BY d.audience", [epoch])
    db.execute(
        f"INSERT INTO frequencies SELECT %s, l.audience, t.term, count(*) FROM (SELECT d.audience, c.terms {live}) l,"
        " unnest(l.terms) t (term) GROUP BY l.audience, t.term",
        [epoch],
    )
    summary = {
        "audiences": dict(db.execute("SELECT number, labels FROM audiences").fetchall()),
        "gates": _pairs(
            db,
            "SELECT f ->> 0, jsonb_agg(DISTINCT f ->> 1) FROM documents d, jsonb_array_elements(d.facets) f"
            f" WHERE {LIVE} AND f ->> 0 LIKE '@%%' AND f ->> 0 <> '{AUDIENCE_GATE}' GROUP BY 1",
        ),
        "counts": _counts(db),
        "unseen": _pairs(
            db,
            "SELECT t.tier, (SELECT jsonb_object_agg(m.audience, m.n) FROM (SELECT d.audience, count(*) n FROM chunks c"
            " JOIN documents d ON d.key = c.document WHERE c.died IS NULL AND NOT EXISTS"
            " (SELECT 1 FROM vectors v WHERE v.tier = t.tier AND v.row = c.row) GROUP BY 1) m)"
            " FROM (SELECT jsonb_object_keys(tiers) tier FROM head) t",
        ),
        "last_row": db.execute(f"SELECT coalesce(max(row), 0) FROM chunks WHERE {LIVE}").fetchall()[0][0],
    }
    db.execute("UPDATE head SET summary = %s", [json.dumps(summary)])


def _counts(db: Db) -> dict[int, dict[str, Any]]:
    """Of each audience: documents, chunks, bytes, documents by kind and by collection."""
    found: dict[int, dict[str, Any]] = {}
    for audience, kind, collection, documents, chunks, size in db.execute(
        "SELECT d.audience, d.kind, d.collection, count(DISTINCT d.key), count(c.row),"
        " coalesce(sum(octet_length(c.text)), 0)::int"
        " FROM documents d LEFT JOIN chunks c ON c.document = d.key WHERE d.died IS NULL GROUP BY 1, 2, 3"
    ):
        one = found.setdefault(audience, {"documents": 0, "chunks": 0, "bytes": 0, "kinds": {}, "collections": {}})
        for name, number in (("documents", documents), ("chunks", chunks), ("bytes", size)):
            one[name] += number
        one["kinds"][kind] = one["kinds"].get(kind, 0) + documents
        one["collections"][collection] = one["collections"].get(collection, 0) + documents
    return found


def _pairs(db: Db, sql: str) -> dict[str, Any]:
    return {name: value for name, value in db.execute(sql).fetchall() if value}


def _averages(db: Db) -> dict[str, float]:
    """Of the rows that everyone may see."""
    sql = (
        "SELECT l.key, avg(l.value::int)::float FROM chunks c"
        " JOIN documents d ON d.key = c.document AND d.audience = 0,"
        " jsonb_each_text(c.lengths) l WHERE c.died IS NULL GROUP BY l.key"
    )
    return dict(db.execute(sql).fetchall())


def _generation(db: Db) -> int:
    return int(db.execute("SELECT generation FROM head").fetchall()[0][0])


def _numbers(db: Db, sequence: str, count: int) -> list[int]:
    return [n for (n,) in db.execute(f"SELECT nextval('{sequence}') FROM generate_series(1, %s)", [count])]


def _copy(db: Db, table: str, lines: Iterable[Sequence[Any]]) -> None:
    with db.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for line in lines:
            copy.write_row(line)


def _numbered(given: Given) -> Iterator[tuple[int, Chunk, Mapping[str, str]]]:
    for n, (chunk, said) in enumerate(zip(given.chunks, given.words(), strict=True)):
        yield n, chunk, said


def _audiences(db: Db) -> dict[str, Audience]:
    """The audiences of collections, by name."""
    ((text,),) = db.execute("SELECT coalesce(facts ->> %s, '{}') FROM head", [AUDIENCES]).fetchall()
    return {name: tuple(one) for name, one in json.loads(text).items()}


def _with(db: Db, name: str, audience: Audience) -> str:
    """The audiences of collections after one was changed, as JSON."""
    return json.dumps({key: one for key, one in {**_audiences(db), name: audience}.items() if one})


def _restricted(given: Given, audience: Audience) -> Given:
    fields = restricted_to(given.document.fields, audience)
    return replace(given, document=replace(given.document, fields=fields))


def _labels(document: Document) -> tuple[str, ...] | None:
    """Who may see a document; none: everyone."""
    if not is_restricted(document.fields):
        return None
    return tuple(sorted({value for key, value in facets_of(document) if key == AUDIENCE_GATE}))


def _audience(db: Db, labels: tuple[str, ...] | None) -> int:
    """The number of those who may see a document."""
    if labels is None:
        return 0
    sql = "INSERT INTO audiences (labels) VALUES (%s) ON CONFLICT (labels) DO UPDATE SET labels = %s RETURNING number"
    return int(db.execute(sql, [list(labels), list(labels)]).fetchall()[0][0])


def _document(key: int, given: Given, audience: int, commit: int) -> tuple[Any, ...]:
    """A line of the table."""
    d, record = given.document, given.document.fields.get("record") or {}
    created = d.created.isoformat() if d.created else ""
    facets = sorted({*facets_of(d)})
    called = [name for name, rank in names_of(d.id, d.aliases).items() if rank == ALIAS or "/" not in name]
    called += [value for name, value in facets if name == "tag"]
    known = record.get("metadata", {}).get(WORDS_ONLY.get(d.kind, "")) or description(d.fields)
    fields = {**d.fields, **({CREATED: created} if created else {})}
    words_of = sorted({word for one in called for word in words(one)}), sorted(set(words(str(known)))) if known else []
    head = (key, d.id, d.kind, d.title, d.path, d.modified, created, given.collection)
    found_by = (
        json.dumps(fields),
        json.dumps(facets),
        filters_of(given),
        *words_of,
        link_key(DocId(""), d.title, "wiki"),
    )
    return (*head, *found_by, audience, given.chunks[0].id if given.chunks else None, json.dumps(record), commit, None)


def _names(key: int, document: Document) -> Iterator[tuple[Any, ...]]:
    return ((key, name, rank) for name, rank in names_of(document.id, document.aliases).items())


def _links(key: int, document: Document) -> Iterator[tuple[Any, ...]]:
    for n, one in enumerate(document.links):
        yield key, n, link_key(document.id, one.target, one.type), one.target, one.type, one.heading, one.alias


def _mentions(key: int, document: Document) -> Iterator[tuple[Any, ...]]:
    record = document.fields.get("record")
    if record and document.kind in KINDS:
        for word, places in mentions(entity_of(record)).items():
            yield key, document.kind, word, f"{places:x}"


def _stored(made: Any) -> tuple[Any, Any, Any]:
    """A vector, or terms and weights."""
    if isinstance(made, Weighted):
        return None, made.terms.tolist(), made.weights.tolist()
    return np.asarray(made, dtype=np.float16).astype(np.float32).tolist(), None, None


def _by_row(made: Any) -> dict[int, dict[str, Any]]:
    """For each row its vectors, as Qdrant takes them; one that is zero points nowhere."""
    found: dict[int, dict[str, Any]] = {}
    for tier, row, vector, terms, values in made:
        one = found.setdefault(row, {})
        if vector is None:
            one[tier] = {"indices": terms, "values": values}
        elif any(vector):
            one[tier] = vector
    return found
