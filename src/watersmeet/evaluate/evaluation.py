"""One evaluation, from questions to metrics and comparison."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.engine.engine import Engine
from watersmeet.engine.query.confidence import READ
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.engine.sync.sparse_on_demand import lacks_sparse, make_sparse
from watersmeet.evaluate import risk
from watersmeet.evaluate.compare import Difference, compare, interval
from watersmeet.evaluate.data import Dataset, Question, check_indexed
from watersmeet.evaluate.index import indexed
from watersmeet.evaluate.metrics import MAIN, Scores, judge, means, measures, percentile
from watersmeet.evaluate.run import WHOLE, Run, peak_memory_mb, run
from watersmeet.evaluate.sweep import Sweep, sweep
from watersmeet.evaluate.trec import read_run

MAX_EXTREMES = 5
"""How many of the queries with the largest gains and losses are listed."""
MAX_RELEVANT = 3
"""How many of the relevant documents of each are listed."""


@dataclass(slots=True)
class Evaluation:
    """Results of an evaluation. `judged` are the numbers of the questions that have a relevant document."""

    dataset: Dataset
    documents: int
    run: Run
    judged: list[int]
    scores: dict[str, Scores]
    seed: int
    against: Run | None = None
    against_scores: Scores = field(default_factory=dict)
    difference: Difference | None = None
    sweep: Sweep | None = None
    warnings: list[str] = field(default_factory=list)
    took_ms: float = 0.0

    @property
    def questions(self) -> Sequence[Question]:
        return self.dataset.questions

    @property
    def quality(self) -> list[float]:
        """One value for each question: nDCG@10; where nothing should be found, whether the answer was rejected."""
        values = [float(rejected) for rejected in self.rejected]
        for number, value in zip(self.judged, self.scores[WHOLE][MAIN], strict=True):
            values[number] = value
        return values

    @property
    def rejected(self) -> list[bool]:
        """For each question, whether nothing was found or the answer was flagged as no good match."""
        made = self.run
        return [flag or not found for flag, found in zip(made.flagged, made.rankings[WHOLE], strict=True)]

    @property
    def nothing(self) -> list[int]:
        """The questions for which nothing should be found."""
        return [i for i, question in enumerate(self.questions) if not question.relevant]

    def confidence(self) -> dict[str, Any] | None:
        """Confidence compared with correctness: whether one of the first results is relevant."""
        made = self.run
        if not made.confidence:  # a run that was read from a file
            return None
        right = [
            bool(set(found[:READ]).intersection(question.relevant)) if question.relevant else None
            for found, question in zip(made.rankings[WHOLE], self.questions, strict=True)
        ]
        return risk.report(made.confidence, made.flagged, right)

    def classes(self) -> dict[str, dict[str, float]]:
        scores = self.scores[WHOLE]
        return {name: {"queries": len(places), **means(scores, places)} for name, places in self._members().items()}

    def _members(self) -> dict[str, list[int]]:
        """Classes of queries, each with the places of its queries among the judged ones."""
        members: dict[str, list[int]] = {}
        for place, number in enumerate(self.judged):
            for name in self.questions[number].classes:
                members.setdefault(name, []).append(place)
        return dict(sorted(members.items(), key=lambda item: (":" in item[0], item[0])))

    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of the main metric, for the fused ranking, each signal and the compared run."""
        found = {name: interval(scores[MAIN], self.seed) for name, scores in self.scores.items()}
        if self.against is not None:
            found[f"against {self.against.recipe}"] = interval(self.against_scores[MAIN], self.seed)
        return found

    def class_intervals(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of the main metric, for each class of queries."""
        values = self.scores[WHOLE][MAIN]
        members = self._members()
        return {name: interval([values[i] for i in places], self.seed) for name, places in members.items()}

    def weakest(self, most: int) -> list[dict[str, Any]]:
        """The queries with the lowest quality, each with a relevant document and its rank in the fused ranking."""
        quality = self.quality
        order = sorted((i for i in range(len(quality)) if quality[i] < 1), key=lambda i: (quality[i], i))
        found = []
        for number in order[:most]:
            question, ranking = self.questions[number], self.run.rankings[WHOLE][number]
            expected = next((one for one in ranking if one in question.relevant), "") or min(
                question.relevant, default=""
            )
            rank = ranking.index(expected) + 1 if expected in ranking else None
            found.append(
                {"query": question.text, "expected": expected, "rank": rank, "quality": round(quality[number], 4)}
            )
        return found

    def per_query(self) -> list[dict[str, float]]:
        rows: list[dict[str, float]] = [{} for _ in self.questions]
        for place, number in enumerate(self.judged):
            rows[number] = {name: round(values[place], 6) for name, values in self.scores[WHOLE].items()}
        return rows


def evaluate(
    dataset: Dataset,
    settings: Settings,
    *,
    mode: str = "",
    index: str = "",
    against: Settings | None = None,
    against_run: str = "",
    seed: int = 0,
    fresh: bool = False,
    weigh: bool = False,
    progress: ProgressCallback = lambda step: None,
) -> Evaluation:
    """Run all questions with these settings, and compare with other settings or a saved run if given.

    `weigh`: also measure a grid of other weights.
    """
    start = time.perf_counter()
    if against is not None and against_run:
        raise ConfigError("--against and --against-run cannot be combined", "compare with one at a time")
    measures()  # a missing library is reported before the first query
    judged = [i for i, question in enumerate(dataset.questions) if question.relevant]
    warnings = list(dataset.warnings)
    made, documents, swept = _run_questions(dataset, settings, mode, index, fresh, progress, warnings, weigh)
    judged_questions = [dataset.questions[i] for i in judged]
    scores = {name: _scores(judged_questions, judged, made, name) for name in made.rankings}
    evaluation = Evaluation(dataset, documents, made, judged, scores, seed, sweep=swept, warnings=warnings)
    if against is not None:
        evaluation.against, *_ = _run_questions(dataset, against, mode, index, False, progress, [])
    elif against_run:
        evaluation.against, run_warnings = read_run(against_run, dataset.questions)
        warnings += run_warnings
    if evaluation.against is not None:
        evaluation.against_scores = _scores(judged_questions, judged, evaluation.against, WHOLE)
        if judged:
            theirs = evaluation.against_scores[MAIN]
            evaluation.difference = compare(scores[WHOLE][MAIN], theirs, seed)
    evaluation.took_ms = (time.perf_counter() - start) * 1000
    return evaluation


def _run_questions(
    dataset: Dataset,
    settings: Settings,
    mode: str,
    index: str,
    fresh: bool,
    progress: ProgressCallback,
    warnings: list[str],
    weigh: bool = False,
) -> tuple[Run, int, Sweep | None]:
    """Run the questions on the named index, or on the dataset's own."""
    folder = index
    if not index:
        ready = indexed(dataset, settings, mode, progress, fresh)
        folder = ready.folder
        warnings += ready.warnings
    with Engine(folder, settings) as engine:
        if index:
            warnings += check_indexed(dataset, (entry["document"] for entry in engine.documents()), engine.passages)
            if lacks_sparse(engine, mode):
                make_sparse(engine, progress)
        made = run(engine, dataset.questions, settings.recipe, mode, progress)
        can = weigh and made.mode == "hybrid" and settings.section("pipeline").fusion == "convex"
        swept = sweep(engine, dataset.questions, mode, progress) if can else None
        return made, engine.status()["documents"], swept


def _scores(judged_questions: list[Question], judged: list[int], made: Run, name: str) -> Scores:
    packs = [made.packs[name][i] for i in judged] if name in made.packs else None
    return judge(judged_questions, [made.rankings[name][i] for i in judged], packs)


# ---------------------------------------------------------------- as JSON


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    latency = evaluation.run.latency
    report: dict[str, Any] = {
        "dataset": evaluation.dataset.name,
        "documents": evaluation.documents,
        "queries": len(evaluation.questions),
        "recipe": evaluation.run.recipe,
        "mode": evaluation.run.mode,
        "metrics": means(evaluation.scores[WHOLE]),
        "signals": {name: means(evaluation.scores[name]) for name in evaluation.run.signals},
        "classes": evaluation.classes(),
        "intervals": {name: [round(x, 4) for x in pair] for name, pair in evaluation.intervals().items()},
        "latency_ms": {"p50": round(percentile(latency, 0.5), 3), "p95": round(percentile(latency, 0.95), 3)},
        "peak_memory_mb": peak_memory_mb(),
        "failures": [
            {"by": f.by, "reason": f.reason, "hint": f.hint, "queries": count}
            for f, count in evaluation.run.failures.most_common()
        ],
        "warnings": evaluation.warnings,
        "seed": evaluation.seed,
        "took_ms": round(evaluation.took_ms, 1),
    }
    nothing = evaluation.nothing
    if nothing:
        right = sum(evaluation.rejected[i] for i in nothing)
        report["expected_nothing"] = {"queries": len(nothing), "share": round(right / len(nothing), 4)}
    confidence = evaluation.confidence()
    if confidence is not None:
        report["confidence"] = confidence
    if evaluation.dataset.note:
        report["note"] = evaluation.dataset.note
    if evaluation.difference is not None:
        report["comparison"] = _comparison(evaluation, evaluation.difference)
    return report


def _comparison(evaluation: Evaluation, difference: Difference) -> dict[str, Any]:
    ours, theirs = evaluation.scores[WHOLE][MAIN], evaluation.against_scores[MAIN]
    order = sorted(range(len(ours)), key=lambda i: (theirs[i] - ours[i], i))
    best = [i for i in order[:MAX_EXTREMES] if ours[i] > theirs[i]]
    worst = [i for i in reversed(order[-MAX_EXTREMES:]) if ours[i] < theirs[i]]
    against = evaluation.against
    return {
        "against": against.recipe if against else "",
        "metrics": means(evaluation.against_scores),
        "delta": round(difference.delta, 4),
        "low": round(difference.low, 4),
        "high": round(difference.high, 4),
        "p": round(difference.p, 5),
        "won": difference.won,
        "lost": difference.lost,
        "best": [_query_ranks(evaluation, i) for i in best],
        "worst": [_query_ranks(evaluation, i) for i in worst],
    }


def _query_ranks(evaluation: Evaluation, place: int) -> dict[str, Any]:
    """A query with the rank of its relevant documents in each signal, in both runs."""
    number = evaluation.judged[place]
    question = evaluation.questions[number]
    graded: Mapping[str, int] = question.relevant
    relevant = sorted(graded, key=lambda document: (-graded[document], document))[:MAX_RELEVANT]
    ours, theirs = evaluation.scores[WHOLE][MAIN][place], evaluation.against_scores[MAIN][place]
    against = evaluation.against
    return {
        "id": question.id,
        "query": question.text,
        "delta": round(ours - theirs, 4),
        "ours": round(ours, 4),
        "theirs": round(theirs, 4),
        "relevant": [
            {
                "document": document,
                "ours": evaluation.run.ranks(number, document),
                "theirs": against.ranks(number, document) if against else {},
            }
            for document in relevant
        ],
    }
