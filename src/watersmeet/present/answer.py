"""Answers: from a ranking to results, and results as JSON, the same from every face."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from watersmeet.core.model import (
    Answer,
    ChunkId,
    Evidence,
    Facets,
    Passage,
    Ranking,
    Respelling,
    Result,
    RouteMatch,
    similarity,
)
from watersmeet.core.place import located
from watersmeet.present.reassemble import context_of, in_context

SIGNALS = ("lexical", "keyword", "dense", "sparse", "static", "exact", "graph", "neighbours", "boost", "listed", "link")
"""Display order of signals; others follow in the order of their evidence."""


def needed(ranking: Ranking) -> set[ChunkId]:
    """Chunks whose passages `results` needs."""
    return {chunk for hit in ranking.hits for chunk in (hit.chunk, *context_of(hit))}


def results(ranking: Ranking, fused: Ranking, passages: Mapping[ChunkId, Passage]) -> tuple[Result, ...]:
    """Results with their texts; hits without a passage are dropped. `fused` has the scores before the stages."""
    if any(hit.chunk not in passages for hit in ranking.hits):
        sound = tuple(hit for hit in ranking.hits if hit.chunk in passages)
        ranking = Ranking(ranking.by, sound).unit()
    raw = {hit.chunk: hit.score for hit in fused.hits}
    return tuple(
        Result(
            id=hit.chunk,
            document=passage.document,
            kind=passage.kind,
            title=passage.title,
            headings=passage.headings,
            path=passage.path,
            place=passage.place,
            text=passage.text,
            score=hit.score,
            fusion_score=raw.get(hit.chunk, hit.score),
            similarity=similarity(hit.evidence),
            evidence=hit.evidence,
            created=passage.created,
        )
        for hit in ranking.hits
        for passage in (in_context(hit, passages),)
    )


def location(result: Result, shorten: Callable[[str], str] = str) -> str:
    """File and place of a result, the file name passed through `shorten`; for a registry entity, its id."""
    if result.kind != "document":
        from watersmeet.core.entities import is_entity  # lazy: slow to import

        if is_entity(result.kind):
            return result.document
    return located(shorten(result.path), result.where)


def to_json(answer: Answer) -> dict[str, Any]:
    return {
        "query": answer.query,
        "mode": answer.mode,
        "recipe": answer.recipe,
        "results": [result_json(result) for result in answer.results],
        "failures": [{"by": f.by, "reason": f.reason, "hint": f.hint} for f in answer.failures],
        "took_ms": round(answer.took_ms, 3),
        "silent": dict(answer.silent),
        "confidence": answer.confidence,
        "confidence_words": answer.confidence_words,
        "no_good_match": answer.no_good_match,
        "stale": answer.stale,
    }


def routed_json(routed: RouteMatch) -> dict[str, Any]:
    """A matched router rule and what it added, as JSON."""
    added: dict[str, Any] = {"filters": {key: list(values) for key, values in routed.filters.items()}}
    added |= {"weights": dict(routed.weights), "only": list(routed.only)}
    return {"rule": routed.rule, "match": routed.match, "added": {key: value for key, value in added.items() if value}}


def routed_line(routed: RouteMatch) -> str:
    """`router: rule 2 (django) adds sdk=python, weight lexical=2`."""
    added = [f"{key}={value}" for key, values in routed.filters.items() for value in values]
    added += [f"weight {name}={weight:g}" for name, weight in routed.weights.items()]
    added += [f"only {', '.join(routed.only)}"] if routed.only else []
    return f"router: rule {routed.rule} ({routed.match}) adds {', '.join(added)}"


def spelling_line(respelling: Respelling) -> str:
    """`spelling: matasteses -> metastases`; with `also`, what was added to a word that the corpus has."""
    arrow = "->" if respelling.instead else "also"
    return f"spelling: {respelling.word} {arrow} {' '.join(respelling.written)}"


def facet_lines(facets: Facets) -> list[str]:
    """`tag: sea 20, shore 12`, a line for each key."""
    keys = dict.fromkeys(one.key for one in facets.counts)
    return [
        f"{key}: " + ", ".join(f"{one.value} {one.documents}" for one in facets.counts if one.key == key)
        for key in keys
    ]


def spelling_json(respelling: Respelling) -> dict[str, Any]:
    return {"word": respelling.word, "written": " ".join(respelling.written), "instead": respelling.instead}


def result_json(result: Result) -> dict[str, Any]:
    return {
        "id": result.id,
        "document": result.document,
        "kind": result.kind,
        "title": result.title,
        "headings": list(result.headings),
        "path": result.path,
        **result.place.to_json(),
        "text": result.text,
        "score": result.score,
        "fusion_score": result.fusion_score,
        "similarity": result.similarity,
        "evidence": [_evidence(evidence) for evidence in result.evidence],
        **({"created": result.created} if result.created else {}),
        **({"index": result.index} if result.index else {}),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"by": evidence.by, "rank": evidence.rank, "score": evidence.score, **evidence.detail}


def in_order(evidence: Sequence[Evidence]) -> list[Evidence]:
    return sorted(evidence, key=lambda e: SIGNALS.index(e.by) if e.by in SIGNALS else len(SIGNALS))


def explain_line(result: Result) -> str:
    """Signals with their ranks: `[lexical#1, exact#2] Title > Heading path`."""
    ranked = [e for e in in_order(result.evidence) if e.by in SIGNALS and not e.detail.get("filled")]
    ranks = ", ".join(f"{e.by}#{e.rank}" for e in ranked)
    return f"[{ranks}] {breadcrumb(result)}"


def breadcrumb(result: Result | Passage) -> str:
    """Breadcrumb: title > heading path, without repeating the title."""
    path = list(result.headings)
    return " > ".join(path if path and path[0] == result.title else [result.title, *path])


def breakdown(result: Result) -> list[str]:
    """Score breakdown: contribution of each step, in figures that add up."""
    lines, later = [], []
    whole = result.fusion_score
    for e in in_order(result.evidence):
        d = e.detail
        if "contribution" in d:
            scaled = f", scaled {d['scaled']:.3f}" if "scaled" in d else ""
            weight = f" x weight {d['weight']:.3f}" if "weight" in d else ""
            marks = "".join(f" ({mark})" for mark in ("estimated", "filled") if d.get(mark))
            part = f"{d['unclamped']:.4f}, clamped to " if "unclamped" in d else ""
            lines.append(f"{e.by}: score {e.score:.4f}{scaled}{weight} = {part}{d['contribution']:.4f}{marks}")
        elif "factor" in d:
            later.append(f"{e.by}: x {d['factor']:g}")
            whole *= d["factor"]
        elif "bonus" in d:
            later.append(f"{e.by}: + {d['bonus']:.4f}")
            whole += d["bonus"]
        if d.get("path"):
            lines.append(f"{e.by}: {d['path']}")
    steps = [*lines, f"fused {result.fusion_score:.4f}", *later]
    return [*steps, f"in all {whole:.4f}"] if later else steps
