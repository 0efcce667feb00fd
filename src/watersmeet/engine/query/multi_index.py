"""Search over several indexes: results are merged by score times confidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Answer, DocId, Evidence, FacetCount, Facets, Request, Result, confidence_words
from watersmeet.engine.query.filters import build_request

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.query.why_not import WhyNot


class MultiIndex:
    """Several indexes searched as one. Scores of two indexes are not comparable, since in each the best result has 1.

    So a result is ranked by its score times the confidence of its index's answer. Every result names its index.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        if not engines:
            raise ConfigError("no index to search", "name at least one")
        self.engines = tuple(engines)
        self.settings = engines[0].settings

    def search(self, request: Request | str, **options: Any) -> Answer:
        """Rank passages of all indexes for a query; parameters are as for `Engine.search`."""
        request = build_request(request, options)
        # min_score and offset apply to the merged results
        every = replace(request, min_score=0.0, top_n=request.depth, offset=0)
        answers = [(engine.folder, engine.search(every)) for engine in self.engines]
        results = [one for one in _merged(answers, request.depth) if one.score >= request.min_score]
        confidences = [answer.confidence for _, answer in answers if answer.confidence is not None and answer.results]
        modes = list(dict.fromkeys(answer.mode for _, answer in answers))
        failures = [replace(one, by=f"{one.by} ({folder})") for folder, answer in answers for one in answer.failures]
        silent = {f"{name} ({folder})": why for folder, answer in answers for name, why in answer.silent.items()}
        timings = {f"{step} ({folder})": took for folder, answer in answers for step, took in answer.timings.items()}
        best = max(confidences, default=answers[0][1].confidence)
        nothing = all(answer.no_good_match for _, answer in answers)
        return Answer(
            query=request.query,
            mode="hybrid" if "hybrid" in modes else modes[0],
            recipe=answers[0][1].recipe,
            results=tuple(results[request.offset :]),
            failures=tuple(failures),
            took_ms=sum(answer.took_ms for _, answer in answers),
            timings=timings,
            silent=silent,
            confidence=best,
            no_good_match=nothing,
            stale=_sum(answer.stale for _, answer in answers),
            confidence_words=confidence_words(best, nothing),
            routed=tuple(one for _, answer in answers for one in answer.routed),
            operators=tuple(dict.fromkeys(one for _, answer in answers for one in answer.operators)),
            spelling=tuple(dict.fromkeys(one for _, answer in answers for one in answer.spelling)),
            expansion=tuple(dict.fromkeys(term for _, answer in answers for term in answer.expansion)),
            facets=_added([answer.facets for _, answer in answers]),
        )

    def unknown_fields(self, request: Request) -> list[str]:
        """Hints about filters that match no document in any of the indexes."""
        first, *others = (engine.unknown_fields(request) for engine in self.engines)
        wrong = [{_problem(note) for note in other} for other in others]
        return [note for note in first if all(_problem(note) in other for other in wrong)]

    def releases(self, viewer: Viewer | None = None) -> list[str]:
        """The packages in any of the indexes, each with its version."""
        return self.field_values("release", viewer)

    def field_values(self, key: str, viewer: Viewer | None = None) -> list[str]:
        """All values of a field in any of the indexes."""
        return sorted({value for engine in self.engines for value in engine.field_values(key, viewer)})

    def text_bytes(self, results: Sequence[Result], viewer: Viewer | None = None) -> int:
        """The size of all documents that these results are from."""
        own = [(engine, [one for one in results if one.index == engine.folder]) for engine in self.engines]
        return sum(engine.text_bytes(found, viewer) for engine, found in own)

    def why_not(self, request: Request, document: str, shown: int | None = None) -> WhyNot:
        """Why a document is missing, by the first index that has it; results of other indexes may rank above it."""
        found = [(engine, engine.why_not(request, document, shown)) for engine in self.engines]
        engine, best = next((pair for pair in found if pair[1].place != "index"), found[0])
        if best.place != "result":
            return best
        limit = request.depth if shown is None else request.offset + shown
        ranked = self.search(replace(request, top_n=request.depth, offset=0)).results
        listed = [(one.index, one.document) for one in ranked[:limit]]
        if (engine.folder, best.document) in listed:
            rank = listed.index((engine.folder, DocId(best.document))) + 1
            return replace(best, rank=rank, reason=f"it is result {rank}")
        return replace(
            best, place="cut", reason=f"it is result {best.rank} of {engine.folder}, below results of other indexes"
        )


def _sum(counts: Iterable[int | None]) -> int | None:
    """None if one of them is."""
    known = [*counts]
    return None if None in known else sum(filter(None, known))


def _added(parts: Sequence[Facets | None]) -> Facets | None:
    """The counts of several indexes; None if none were counted."""
    known = [one for one in parts if one is not None]
    counts: Counter[tuple[str, str]] = Counter()
    for one in (count for part in known for count in part.counts):
        counts[one.key, one.value] += one.documents
    made = tuple(FacetCount(key, value, count) for (key, value), count in counts.items())
    return Facets(sum(one.documents for one in known), made) if known else None


def _problem(note: str) -> str:
    """The problem of a hint, without its suggestion."""
    return note.partition(";")[0]


def _merged(answers: Sequence[tuple[str, Answer]], top_n: int) -> tuple[Result, ...]:
    weighted: list[tuple[float, float, Result]] = []
    for folder, answer in answers:
        confidence = 1.0 if answer.confidence is None else answer.confidence
        weighted += [(one.score * confidence, confidence, replace(one, index=folder)) for one in answer.results]
    weighted.sort(key=lambda item: -item[0])
    best = weighted[0][0] if weighted else 0.0
    return tuple(
        replace(
            one,
            score=score / best if best else 0.0,
            evidence=(
                *one.evidence,
                Evidence("index", rank, score, {"path": f"{one.index}, confidence {confidence:.3f}"}),
            ),
        )
        for rank, (score, confidence, one) in enumerate(weighted[:top_n], 1)
    )
