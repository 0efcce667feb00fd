"""How good is it, and is the change real? One evaluation, from questions to figures."""

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
from watersmeet.evaluate.data import Dataset, Question, check_held
from watersmeet.evaluate.index import indexed
from watersmeet.evaluate.metrics import MAIN, Scores, judge, means, measures, percentile
from watersmeet.evaluate.run import WHOLE, Run, peak_memory_mb, run
from watersmeet.evaluate.sweep import Sweep, sweep
from watersmeet.evaluate.trec import read_run

EXTREMES = 5
"""How many of the queries that won and lost most are shown."""
JUDGED = 3
"""... with how many of their relevant documents."""


@dataclass(slots=True)
class Evaluation:
    """Everything that was measured. `judged` are the questions that have a relevant document."""

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
        """One figure for each question: nDCG@10; where nothing should be found, whether it said that nothing fits."""
        values = [float(said) for said in self.said_nothing]
        for number, value in zip(self.judged, self.scores[WHOLE][MAIN], strict=True):
            values[number] = value
        return values

    @property
    def said_nothing(self) -> list[bool]:
        """For each question, whether nothing was found, or only what does not fit."""
        made = self.run
        return [flag or not found for flag, found in zip(made.flagged, made.rankings[WHOLE], strict=True)]

    @property
    def nothing(self) -> list[int]:
        """The questions for which nothing should be found."""
        return [i for i, question in enumerate(self.questions) if not question.relevant]

    def sure(self) -> dict[str, Any] | None:
        """How sure it was beside how often it was right: whether one of the first results is relevant."""
        made = self.run
        if not made.confidence:  # a run that was read from a file
            return None
        right = [
            bool(set(found[:READ]).intersection(question.relevant)) if question.relevant else None
            for found, question in zip(made.rankings[WHOLE], self.questions, strict=True)
        ]
        return risk.report(made.confidence, made.flagged, right)

    def classes(self) -> dict[str, dict[str, float]]:
        members: dict[str, list[int]] = {}
        for place, number in enumerate(self.judged):
            for name in self.questions[number].classes:
                members.setdefault(name, []).append(place)
        ordered = sorted(members, key=lambda name: (":" in name, name))
        return {name: {"queries": len(members[name]), **self._of(members[name])} for name in ordered}

    def _of(self, places: list[int]) -> dict[str, float]:
        return means(self.scores[WHOLE], places)

    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of the main metric, for the whole, each signal and what it is compared with."""
        found = {name: interval(scores[MAIN], self.seed) for name, scores in self.scores.items()}
        if self.against is not None:
            found[f"against {self.against.recipe}"] = interval(self.against_scores[MAIN], self.seed)
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
    """Ask all questions with these settings, and with those or against that run if given.

    `weigh`: say also how good other weights would be.
    """
    start = time.perf_counter()
    if against is not None and against_run:
        raise ConfigError("--against and --against-run exclude each other", "compare with one at a time")
    measures()  # should the library be missing, better now than after the last query
    judged = [i for i, question in enumerate(dataset.questions) if question.relevant]
    warnings = list(dataset.warnings)
    made, documents, swept = _asked(dataset, settings, mode, index, fresh, progress, warnings, weigh)
    wanted = [dataset.questions[i] for i in judged]
    scores = {name: _scores(wanted, judged, made, name) for name in made.rankings}
    evaluation = Evaluation(dataset, documents, made, judged, scores, seed, sweep=swept, warnings=warnings)
    if against is not None:
        evaluation.against, *_ = _asked(dataset, against, mode, index, False, progress, [])
    elif against_run:
        evaluation.against, said = read_run(against_run, dataset.questions)
        warnings += said
    if evaluation.against is not None:
        evaluation.against_scores = _scores(wanted, judged, evaluation.against, WHOLE)
        if judged:
            theirs = evaluation.against_scores[MAIN]
            evaluation.difference = compare(scores[WHOLE][MAIN], theirs, seed)
    evaluation.took_ms = (time.perf_counter() - start) * 1000
    return evaluation


def _asked(
    dataset: Dataset,
    settings: Settings,
    mode: str,
    index: str,
    fresh: bool,
    progress: ProgressCallback,
    warnings: list[str],
    weigh: bool = False,
) -> tuple[Run, int, Sweep | None]:
    """The questions put to the index that was named, or to the dataset's own."""
    folder = index
    if not index:
        ready = indexed(dataset, settings, mode, progress, fresh)
        folder = ready.folder
        warnings += ready.warnings
    with Engine(folder, settings) as engine:
        if index:
            warnings += check_held(dataset, (entry["document"] for entry in engine.documents()))
            if lacks_sparse(engine, mode):
                make_sparse(engine, progress)
        made = run(engine, dataset.questions, settings.recipe, mode, progress)
        can = weigh and made.mode == "hybrid" and settings.section("pipeline").fusion == "convex"
        swept = sweep(engine, dataset.questions, mode, progress) if can else None
        return made, engine.status()["documents"], swept


def _scores(wanted: list[Question], judged: list[int], made: Run, name: str) -> Scores:
    packs = [made.packs[name][i] for i in judged] if name in made.packs else None
    return judge(wanted, [made.rankings[name][i] for i in judged], packs)


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
        right = sum(evaluation.said_nothing[i] for i in nothing)
        report["expected_nothing"] = {"queries": len(nothing), "share": round(right / len(nothing), 4)}
    sure = evaluation.sure()
    if sure is not None:
        report["confidence"] = sure
    if evaluation.dataset.note:
        report["note"] = evaluation.dataset.note
    if evaluation.difference is not None:
        report["comparison"] = _comparison(evaluation, evaluation.difference)
    return report


def _comparison(evaluation: Evaluation, difference: Difference) -> dict[str, Any]:
    ours, theirs = evaluation.scores[WHOLE][MAIN], evaluation.against_scores[MAIN]
    order = sorted(range(len(ours)), key=lambda i: (theirs[i] - ours[i], i))
    best = [i for i in order[:EXTREMES] if ours[i] > theirs[i]]
    worst = [i for i in reversed(order[-EXTREMES:]) if ours[i] < theirs[i]]
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
        "best": [_explained(evaluation, i) for i in best],
        "worst": [_explained(evaluation, i) for i in worst],
    }


def _explained(evaluation: Evaluation, place: int) -> dict[str, Any]:
    """A query, and at which rank each signal had its relevant documents, here and there."""
    number = evaluation.judged[place]
    question = evaluation.questions[number]
    graded: Mapping[str, int] = question.relevant
    relevant = sorted(graded, key=lambda document: (-graded[document], document))[:JUDGED]
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
