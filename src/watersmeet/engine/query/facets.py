"""Facets of an answer: how many of the documents found are of each kind, collection, tag and age.

They are counted over all candidates of the fusion that the filters, the operators of the query and the viewer's
visibility let through, and not over the few results that are listed.
"""

from __future__ import annotations

from datetime import UTC, datetime

from watersmeet.common.dates import parse_date
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ChunkId, DocId, FacetCount, Facets
from watersmeet.engine.query.runner import SearchRun

COUNTED = ("kind", "collection", "tag")
AGES = ("7d", "1m", "1y")
"""Values of `since` that are counted."""
MAX_VALUES = 30
"""The commonest values of a facet."""


def count_facets(search_run: SearchRun) -> Facets:
    snapshot, plan, found = search_run.snapshot, search_run.outcome.plan, search_run.outcome.fused
    for name, stage in search_run.pipeline.stages:
        found = stage.apply(found, plan) if name == "operators" else found
    owners = snapshot.documents_of([hit.chunk for hit in found.hits])
    documents = sorted(set(owners.values()))
    counts: list[FacetCount] = []
    for key in COUNTED:
        counted = snapshot.count_values(documents, key)
        commonest = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_VALUES]
        counts += [FacetCount(key, value, count) for value, count in commonest]
    return Facets(len(documents), (*counts, *_ages(snapshot, owners, plan.now or datetime.now(UTC))))


def _ages(snapshot: Snapshot, owners: dict[ChunkId, DocId], now: datetime) -> list[FacetCount]:
    """Documents changed since each age; each count includes the younger ones."""
    one_each = {document: chunk for chunk, document in owners.items()}
    dates = snapshot.dates_of(one_each.values()).values()
    limits = [(age, parse_date(age, now)) for age in AGES]
    counted = [FacetCount("since", age, sum(date >= limit for date in dates)) for age, limit in limits]
    return [one for one in counted if one.documents]
