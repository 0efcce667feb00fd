"""Evaluation searches: rankings of every signal, by document, or by section where sections are judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from watersmeet.core.index import Snapshot
from watersmeet.core.model import ChunkId, DocId, Failure, Hit, Passage
from watersmeet.core.passages import in_section, section_name
from watersmeet.engine.query.runner import SearchRun


class Trial(NamedTuple):
    """Rankings of a query, fused and by signal, as (document, score of its best chunk), best first.

    If a section is judged, (section, score) instead: `document#heading > heading`. `read` has the passages of each
    ranking down to the first of a relevant document, none if there is none; those of the fused ranking are under the
    empty name.
    """

    mode: str
    fused: list[tuple[DocId, float]]
    signals: dict[str, list[tuple[DocId, float]]]
    failures: tuple[Failure, ...]
    took_ms: float
    read: dict[str, list[Passage]]
    confidence: float | None
    no_good_match: bool


def best_per_document(hits: Iterable[Hit], owners: Mapping[ChunkId, DocId]) -> list[tuple[DocId, float]]:
    best: dict[DocId, float] = {}
    for hit in hits:
        best.setdefault(owners[hit.chunk], hit.score)
    return list(best.items())


def trial(search_run: SearchRun, down_to: Collection[str], without: Collection[str]) -> Trial:
    outcome = search_run.outcome
    took = search_run.took_ms
    named = {"": outcome.ranking, **{ranking.by: ranking for ranking in outcome.rankings}}
    searching = dict(search_run.pipeline.signals)
    deep = replace(outcome.plan, pool=max(outcome.plan.pool, outcome.plan.top_n))
    again = named.keys() & (searching if deep.pool > outcome.plan.pool else search_run.pipeline.follow)
    named |= {name: searching[name].rank(deep) for name in again}
    hits = {name: [h for h in ranking.hits if h.chunk not in without] for name, ranking in named.items()}
    owners = _names(search_run.snapshot, {hit.chunk for found in hits.values() for hit in found}, down_to)
    read = {}
    for name, found in hits.items():
        last = next((i for i, hit in enumerate(found) if owners[hit.chunk] in down_to), -1)
        read[name] = [hit.chunk for hit in found[: last + 1]]
    wanted = {chunk for chunks in read.values() for chunk in chunks}
    passages = search_run.snapshot.passages(wanted) if wanted else {}
    by_document = {name: best_per_document(found, owners) for name, found in hits.items()}
    texts = {name: [passages[chunk] for chunk in chunks] for name, chunks in read.items()}
    confidence = search_run.confidence()
    probability, fits = (confidence.probability, confidence.fits) if confidence else (None, True)
    fused = by_document.pop("")
    return Trial(search_run.mode, fused, by_document, outcome.failures, took, texts, probability, not fits)


def _names(snapshot: Snapshot, chunks: Collection[ChunkId], judged: Collection[str]) -> Mapping[ChunkId, DocId]:
    """What each chunk counts for: its document, or its section if one of the judged names is a section."""
    documents = snapshot.documents_of(chunks)
    sections = [name for name in judged if "#" in name and not snapshot.passages_of(DocId(name))]
    if not sections:
        return documents
    passages = snapshot.passages(chunks)
    return {
        chunk: document
        if document in judged
        else DocId(next((s for s in sections if in_section(passages[chunk], s)), section_name(passages[chunk])))
        for chunk, document in documents.items()
    }
