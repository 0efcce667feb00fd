"""Document reads: one, all, or the linked ones."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from typing import Any

from watersmeet.core.errors import ConfigError, IndexDamaged, NotFound, nearest
from watersmeet.core.index import Record, Snapshot
from watersmeet.core.model import ANY, Condition, DocId, Evidence, Hit, Ranking
from watersmeet.core.visibility import Viewer
from watersmeet.engine.query.document_lookup import DocumentMatch
from watersmeet.engine.query.embeds import Embeds
from watersmeet.engine.query.visibility import is_limited, visible_to
from watersmeet.present.reassemble import LEVELS, OVERLAP, reassemble

ORDERS = ("path", "title", "modified")
"""Orders of a list of documents: by id, by title, the last changed first."""


def get(snapshot: Snapshot, match: DocumentMatch, viewer: Viewer | None = None, embeds: bool = True) -> dict[str, Any]:
    """A document or one chunk of it; `embeds`: with the text that its embeds stand for."""
    document, chunk = match
    record = snapshot.record(document)
    if record is None:
        raise NotFound(f"no document called {document!r}")
    passages = [p for p in snapshot.passages_of(document) if chunk in (None, p.id)]
    fields = record.fields
    levels, overlap = fields.get(LEVELS), fields.get(OVERLAP, 0)
    text = passages[0].text if chunk else reassemble(record.title, passages, levels, overlap)
    if is_limited(viewer) and "record" in fields:
        from watersmeet.engine.registry.visibility import visible_fields, visible_text

        fields, text = visible_fields(snapshot, fields, viewer), visible_text(snapshot, fields, text, viewer)
    elif embeds:
        text = Embeds(snapshot, visible_to(viewer)).expand(document, text)
    return {
        "document": document,
        "kind": record.kind,
        "title": record.title,
        "path": record.path,
        "where": passages[0].where if chunk else "",
        "text": text,
        "fields": {key: value for key, value in fields.items() if not key.startswith("@")},
        "links": [
            {"target": k.target, "heading": k.heading, "alias": k.alias, "type": k.type}
            for k in snapshot.links_of(document)
        ],
        "chunks": [{"id": p.id, "headings": list(p.headings), **p.place.to_json()} for p in passages],
        **({"file_missing": True} if _file_is_missing(record) else {}),
    }


def _file_is_missing(record: Record) -> bool:
    """Whether the file of a document no longer exists; False for what is in no file."""
    from watersmeet.core.entities import is_entity  # lazy: slow to import

    return not is_entity(record.kind) and os.path.isabs(record.path) and not os.path.lexists(record.path)


def listing(snapshot: Snapshot, condition: Condition = ANY, sort: str = "") -> list[dict[str, Any]]:
    """The documents that satisfy a condition, in one of `ORDERS`."""
    if sort and sort not in ORDERS:
        raise ConfigError(f"documents cannot be sorted by {sort!r}", nearest(sort, ORDERS))
    found = [
        {
            "document": record.document,
            "kind": record.kind,
            "title": record.title,
            "modified": record.modified.isoformat() if record.modified else None,
            "chunks": record.chunks,
        }
        for record in snapshot.records(condition)
    ]
    if sort == "title":
        found.sort(key=lambda one: str(one["title"]).casefold())
    elif sort == "modified":
        found.sort(key=lambda one: str(one["modified"] or ""), reverse=True)
    return found


def tags(snapshot: Snapshot, condition: Condition, prefix: str = "") -> list[dict[str, Any]]:
    """The tags of the documents that satisfy a condition, the commonest first."""
    begin = prefix.casefold().removeprefix("#")
    found = [(tag, count) for tag, count in snapshot.tags(condition, without=()).items() if tag.startswith(begin)]
    return [{"tag": tag, "documents": count} for tag, count in sorted(found, key=lambda one: (-one[1], one[0]))]


def related(snapshot: Snapshot, document: DocId, visible: Condition = ANY) -> Ranking:
    """Neighbours by links in both directions; documents with many links count less."""
    strength: dict[DocId, float] = defaultdict(float)
    paths: defaultdict[DocId, list[str]] = defaultdict(list)
    links = snapshot.links(visible)
    for source, target, type in links.edges([document], whole=True)[document] or ():
        other = target if source == document else source
        strength[other] += 1.0 if source == document else 0.9
        paths[other].append(f"{source} -> {target} ({type})")
    strength = {other: strength[other] for other in snapshot.only(strength, visible)}
    degrees = links.degrees(strength)
    scored = {other: s / math.log2(2 + degrees[other]) for other, s in strength.items()}
    best = max(scored.values(), default=1.0)
    first = links.first_chunks(scored, visible)
    hits = []
    for rank, other in enumerate(sorted(scored, key=lambda d: (-scored[d], d)), 1):
        score = scored[other] / best
        hits.append(Hit(first[other], score, (Evidence("link", rank, strength[other], {"paths": paths[other]}),)))
    return Ranking.of("related", hits)


def check_sound(snapshot: Snapshot) -> None:
    """Raise if damaged rows were left out."""
    if snapshot.damaged:
        names = ", ".join(snapshot.damaged)
        raise IndexDamaged(f"the catalogue is damaged in {names}", "run `watersmeet sync`, which reads the files again")
