"""Filling a cluster: the one writer of the draft. Each call is one commit, and publishes statistics of what it left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import psycopg

from cluster_index.index import Cluster
from cluster_index.pushed import filters_of
from cluster_index.qdrant import FILTERS, MODIFIED, WORDS, sparse
from cluster_index.terms import token_of, weights
from memory_index import FIELDS
from watersmeet.core.boosts import mentions
from watersmeet.core.entities import KINDS, entity_of
from watersmeet.core.facets import facets_of
from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.names import ALIAS, WORDS_ONLY, link_key, names_of
from watersmeet.core.pages import CREATED, Document
from watersmeet.core.sparse import Weighted
from watersmeet.core.tokens import words
from watersmeet.core.viewers import AUDIENCE_GATE, PUBLIC, kept_from_some
from watersmeet.testing.contracts.corpus import Given

LIVE = "died IS NULL"
Db = psycopg.Connection[Any]


class ClusterFilling:
    """`dimensions` are those of the tiers with vectors; a tier with weighted terms is called `sparse`."""

    def __init__(self, index: Cluster, dimensions: Mapping[str, int]) -> None:
        self.index, self._dimensions = index, dimensions
        self._numbers: dict[tuple[str, str], int] = {}
        index.postgres.make()
        self._make_points(index.collection(0))

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        with self._commit() as (db, _):
            db.execute("UPDATE head SET collections = collections || %s", [json.dumps({name: metadata})])

    def put(self, given: Sequence[Given]) -> None:
        with self._commit() as (db, commit):
            self._bury(db, [one.document.id for one in given], commit)
            rows = [self._put(db, one, commit) for one in given]
            new = [row for part in rows for row in part]
            if not db.execute(f"SELECT 1 FROM chunks WHERE {LIVE} AND born < %s LIMIT 1", [commit]).fetchone():
                db.execute("UPDATE head SET averages = %s", [json.dumps(_averages(db))])
            self._points(db, new)

    def remove(self, documents: Collection[DocId]) -> None:
        with self._commit() as (db, commit):
            self._bury(db, documents, commit)

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        with self._commit() as (db, commit):
            found = db.execute(f"SELECT id, row FROM chunks WHERE {LIVE} AND id = ANY(%s)", [list(vectors)]).fetchall()
            made = [(row, *_stored(vectors[ChunkId(chunk)])) for chunk, row in found]
            with db.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO vectors VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (tier, row) DO UPDATE SET"
                    " vector = excluded.vector, terms = excluded.terms, weights = excluded.weights",
                    [(tier.name, *one, commit) for one in made],
                )
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

    def _put(self, db: Db, given: Given, commit: int) -> list[int]:
        """The rows of a document, all of them new; the vectors of what it said before come along."""
        document = given.document
        key = _put_document(db, given, _audience(db, document), commit)
        rows = [row for (row,) in db.execute("SELECT nextval('rows') FROM generate_series(1, %s)", [len(given.chunks)])]
        lines = []
        for ordinal, (row, chunk, said) in enumerate(zip(rows, given.chunks, given.words(), strict=True)):
            counts = {
                name: Counter(token for one in said[name].split() if (token := token_of(name, one))) for name in FIELDS
            }
            numbered = self._numbered(db, counts)
            lengths = {name: sum(counts[name].values()) for name in FIELDS}
            hash = "\0".join((*said.values(), chunk.text)).encode()
            lines.append((
                row, chunk.id, key, ordinal, json.dumps(chunk.headings), *chunk.lines, chunk.text, hash,
                json.dumps(numbered), json.dumps(lengths), [term for term, _, _ in numbered], commit,
            ))  # fmt: skip
        with db.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO chunks VALUES (%s, %s, %s, %s, %s, %s, %s, %s, sha256(%s), %s, %s, %s, %s)", lines
            )
        db.execute(
            "INSERT INTO vectors SELECT v.tier, n.row, v.vector, v.terms, v.weights, v.born FROM chunks n"
            " JOIN chunks o ON o.id = n.id AND o.hash = n.hash AND o.died = n.born JOIN vectors v ON v.row = o.row"
            " WHERE n.document = %s",
            [key],
        )
        return rows

    def _numbered(self, db: Db, counts: Mapping[str, Counter[str]]) -> list[tuple[int, str, int]]:
        """(term, field, count) of a row."""
        known = self._numbers
        new = [(name, token) for name, found in counts.items() for token in found if (name, token) not in known]
        if new:
            fields, texts = map(list, zip(*new, strict=True))
            db.execute(
                "INSERT INTO terms (field, text) SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING",
                [fields, texts],
            )
            sql = "SELECT field, text, number FROM terms JOIN unnest(%s::text[], %s::text[]) n (field, text) USING (field, text)"
            known.update({(name, text): number for name, text, number in db.execute(sql, [fields, texts])})
        return [(known[name, token], name, count) for name, found in counts.items() for token, count in found.items()]

    def _points(self, db: Db, rows: Sequence[int]) -> None:
        ((averages, generation),) = db.execute("SELECT averages, generation FROM head").fetchall()
        made = _by_row(
            db.execute("SELECT tier, row, vector, terms, weights FROM vectors WHERE row = ANY(%s)", [list(rows)])
        )
        found = db.execute(
            "SELECT c.row, c.said, c.lengths, d.filters, d.modified FROM chunks c JOIN documents d ON d.key = c.document"
            " WHERE c.row = ANY(%s) ORDER BY c.row",
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
        "SELECT d.audience, d.kind, d.collection, count(DISTINCT d.key), count(c.row), coalesce(sum(octet_length(c.text)), 0)::int"
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
        "SELECT l.key, avg(l.value::int)::float FROM chunks c JOIN documents d ON d.key = c.document AND d.audience = 0,"
        " jsonb_each_text(c.lengths) l WHERE c.died IS NULL GROUP BY l.key"
    )
    return dict(db.execute(sql).fetchall())


def _generation(db: Db) -> int:
    return int(db.execute("SELECT generation FROM head").fetchall()[0][0])


def _audience(db: Db, document: Document) -> int:
    """The number of those who may see a document."""
    if not kept_from_some(document.fields):
        return 0
    labels = sorted({value for key, value in facets_of(document) if key == AUDIENCE_GATE} - {PUBLIC})
    sql = "INSERT INTO audiences (labels) VALUES (%s) ON CONFLICT (labels) DO UPDATE SET labels = %s RETURNING number"
    return int(db.execute(sql, [labels, labels]).fetchall()[0][0])


def _put_document(db: Db, given: Given, audience: int, commit: int) -> int:
    document, record = given.document, given.document.fields.get("record") or {}
    created = document.created.isoformat() if document.created else ""
    names = names_of(document.id, document.aliases)
    facets = sorted({*facets_of(document)})
    called = [key for key, rank in names.items() if rank == ALIAS or "/" not in key]
    called += [value for key, value in facets if key == "tag"]
    known = record.get("metadata", {}).get(WORDS_ONLY.get(document.kind, ""))
    ((key,),) = db.execute(
        "INSERT INTO documents (name, kind, title, path, modified, created, collection, fields, facets, filters, called,"
        " known, title_key, audience, first_chunk, record, born)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING key",
        [
            document.id, document.kind, document.title, document.path, document.modified, created, given.collection,
            json.dumps({**document.fields, **({CREATED: created} if created else {})}), json.dumps(facets),
            filters_of(given), sorted({word for one in called for word in words(one)}),
            sorted(set(words(str(known)))) if known else [], link_key(DocId(""), document.title, "wiki"), audience,
            given.chunks[0].id if given.chunks else None, json.dumps(record), commit,
        ],
    ).fetchall()  # fmt: skip
    with db.cursor() as cursor:
        cursor.executemany("INSERT INTO names VALUES (%s, %s, %s)", [(key, name, rank) for name, rank in names.items()])
        cursor.executemany(
            "INSERT INTO links VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (key, n, link_key(document.id, one.target, one.type), one.target, one.type, one.heading, one.alias)
                for n, one in enumerate(document.links)
            ],
        )
        found = mentions(entity_of(record)) if record and document.kind in KINDS else {}
        cursor.executemany(
            "INSERT INTO mentions VALUES (%s, %s, %s, %s)",
            [(key, document.kind, word, f"{places:x}") for word, places in found.items()],
        )
    return int(key)


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
