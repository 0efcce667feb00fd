"""Reading documents back: one, all, or those that it is linked with."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from difflib import get_close_matches
from typing import Any

from watersmeet.core.errors import NotFound, nearest
from watersmeet.core.model import ChunkId, Condition, DocId, Evidence, Hit, Ranking
from watersmeet.core.names import link_key, names_of
from watersmeet.present.whole import whole
from watersmeet.store.view import ANY, SqliteView

COMPARABLE = 5_000
"""With more documents than this, an id that is not there is not compared with each."""


def document_of(view: SqliteView, identity: str, seen: Condition = ANY) -> DocId:
    """The document that an id names, itself or through one of its chunks."""
    if view.only([DocId(identity)], seen):
        return DocId(identity)
    passage = view.passages([ChunkId(identity)]).get(ChunkId(identity))
    if passage is None or not view.only([passage.document], seen):
        raise NotFound(f"no document or chunk called {identity!r}", _meant(view, identity, seen))
    return passage.document


def _meant(view: SqliteView, identity: str, seen: Condition) -> str:
    """The hint for an id that there is not: a document that goes by this name, or by one much like it."""
    records = view.records(seen)
    key = link_key(DocId(""), identity, "wiki")
    named: list[str] = [record.document for record in records if key in names_of(record.document)]
    if not named and len(records) <= COMPARABLE:
        named = get_close_matches(identity, [record.document for record in records], 1)
    return f"did you mean {named[0]!r}?" if named else "`watersmeet list` shows what there is"


def get(view: SqliteView, identity: str, seen: Condition = ANY) -> dict[str, Any]:
    document = document_of(view, identity, seen)
    record = view.record(document)
    if record is None:
        raise NotFound(f"no document called {document!r}")
    passages = [p for p in view.passages_of(document) if identity in (document, p.id)]
    return {
        "document": document,
        "kind": record.kind,
        "title": record.title,
        "path": record.path,
        "text": passages[0].text if identity != document else whole(record.title, passages),
        "fields": {key: value for key, value in record.fields.items() if not key.startswith("@")},
        "links": [
            {"target": k.target, "heading": k.heading, "alias": k.alias, "type": k.type} for k in view.links(document)
        ],
        "chunks": [{"id": p.id, "headings": list(p.headings), "lines": list(p.lines)} for p in passages],
    }


def listing(view: SqliteView, seen: Condition = ANY) -> list[dict[str, Any]]:
    return [
        {
            "document": record.document,
            "kind": record.kind,
            "title": record.title,
            "modified": record.modified.isoformat() if record.modified else None,
            "chunks": record.chunks,
        }
        for record in view.records(seen)
    ]


def related(view: SqliteView, document: DocId, seen: Condition = ANY) -> Ranking:
    """Neighbours by links in both directions; one that links to everything says little and counts less."""
    strength: dict[DocId, float] = defaultdict(float)
    paths: defaultdict[DocId, list[str]] = defaultdict(list)
    for source, target, type in view.edges(document):
        other = target if source == document else source
        strength[other] += 1.0 if source == document else 0.9
        paths[other].append(f"{source} -> {target} ({type})")
    strength = {other: strength[other] for other in view.only(strength, seen)}
    scored = {other: s / math.log2(2 + view.degree(other)) for other, s in strength.items()}
    best = max(scored.values(), default=1.0)
    first = {other: view.first_chunk(other) for other in scored}
    hits = []
    for rank, other in enumerate(sorted(scored, key=lambda d: (-scored[d], d)), 1):
        score = scored[other] / best
        hits.append(Hit(first[other], score, (Evidence("link", rank, strength[other], {"paths": paths[other]}),)))
    return Ranking.of("related", hits)


ALWAYS = frozenset({"kind", "path", "document", "collection", "tag", "tags", "status"})
"""What can be filtered by in every index."""


def unknown_fields(view: SqliteView, condition: Condition, seen: Condition = ANY) -> list[str]:
    """A sentence for each filter whose key no document has: it can only ever find nothing."""
    known = view.fields(seen) | ALWAYS
    return [
        f"no document has the field {key!r}; {nearest(key, known)}"
        for key in condition.fields
        if key.casefold() not in known
    ]


def size_of(folder: str) -> int:
    return sum(
        os.path.getsize(os.path.join(path, name))
        for path, _, names in os.walk(folder)
        for name in names
        if os.path.exists(os.path.join(path, name))
    )
