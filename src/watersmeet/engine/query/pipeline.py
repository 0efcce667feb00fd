"""The query pipeline: query steps, signals in parallel, fusion, stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import partial
from math import inf
from time import perf_counter
from typing import TypeVar, cast

from watersmeet.core.errors import Stopped, WatersmeetError
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Failure, Plan, Ranking
from watersmeet.core.ports import Derived, Fusion, Scorer, Signal, Stage, Step
from watersmeet.engine.query.ceilings import apply_ceilings, capped_only, enforce_ceilings
from watersmeet.engine.query.confidence import READ
from watersmeet.engine.query.threads import Task, Threads

T = TypeVar("T")
INLINE_MS = 10.0
"""A signal that took less than this last time runs in the calling thread."""
MODEL_MS = 2.0
"""While a model runs longer than this in the calling thread, the other signals run in threads ..."""
THREAD_MS = 0.4
"""... if they take at least this long."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outcome:
    """The outcome of a plan: the ranking of each signal, the fused one before the stages, and the final one."""

    plan: Plan
    rankings: tuple[Ranking, ...]
    fused: Ranking
    ranking: Ranking
    failures: tuple[Failure, ...]
    timings: dict[str, float]
    confidence_ranking: Ranking
    """The last ranking with enough hits for the confidence, even if only one result was requested."""

    @property
    def counts(self) -> dict[str, int]:
        """How many candidates each signal ranked, and how many of the results each stage with evidence changed."""
        found = {ranking.by: len(ranking.hits) for ranking in self.rankings}
        for by in (one.by for hit in self.ranking.hits for one in hit.evidence if one.detail.get("factor") != 1.0):
            if all(ranking.by != by for ranking in self.rankings):
                found[by] = found.get(by, 0) + 1
        return found


@dataclass(slots=True)
class Scores:
    """Scores that signals give to candidates of others, for one plan, with a cache of those computed ahead."""

    plan: Plan
    signals: Mapping[str, Scorer]
    _cached: dict[str, dict[ChunkId, float]] = field(default_factory=dict)
    _stopped: bool = False

    def of(self, name: str, chunks: set[ChunkId]) -> dict[ChunkId, float]:
        """The scores of one signal for these chunks."""
        cached = self._cached.get(name, {})
        scores = {chunk: cached[chunk] for chunk in chunks if chunk in cached}
        others = chunks - scores.keys() if scores else chunks
        return {**scores, **self.signals[name].score(self.plan, others)} if others else scores

    def compute_ahead(self, names: Collection[str], found: Ranking) -> None:
        """Score the hits of one signal by these others, until `stop_ahead` is called."""
        chunks = [hit.chunk for hit in found.hits]
        for name in names if chunks else ():
            if self._stopped:
                return
            self._cached[name] = {**self._cached.get(name, {}), **self.signals[name].score(self.plan, chunks)}

    def stop_ahead(self) -> None:
        """Compute the rest only when needed: from now on a second thread would only compete for the interpreter."""
        self._stopped = True


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pipeline:
    understand: Sequence[Step]
    signals: Sequence[tuple[str, Signal]]
    derived: Sequence[tuple[str, Derived]]
    fusion: Fusion
    stages: Sequence[tuple[str, Stage]]
    deadline: float
    threads: Threads
    follow: Mapping[str, str] = field(default_factory=dict)
    """Signals that only rank candidates of others, each while the named signal has hits."""
    remote: frozenset[str] = frozenset()
    """Signals that wait for another machine; they never run in the calling thread."""
    normalize: bool = True
    """Whatever the stages: at most `top_n` hits, and scores from 0 to 1 with the best at 1."""
    models: frozenset[str] = frozenset()
    """Signals that spend most of their time in a model, outside the interpreter lock."""
    took: dict[tuple[str, str], float] = field(default_factory=dict)
    """Milliseconds that each signal took last, by operation."""

    def run(self, plan: Plan, cap: Callable[[Ranking], Ranking] | None = None) -> Outcome:
        """Run the query path. `cap` changes the ranking between fusion and the stages."""
        timings: dict[str, float] = {}
        start = perf_counter()
        plan, failed_steps = self._understood(plan)
        start = _lap(timings, "understand", start)
        _check_cancelled(plan)
        scorers = {name: cast(Scorer, signal) for name, signal in self.signals if hasattr(signal, "score")}
        scores = Scores(plan, scorers)
        rankings, failures = self._ranked(plan, timings, scores)
        failures = [*failed_steps, *failures, *_ignored_signals(self.fusion, rankings)]
        start = perf_counter()
        fused = ranking = apply_ceilings(self.fusion.fuse(rankings, plan), rankings)
        ranking = confidence_ranking = cap(fused) if cap else fused
        capped = capped_only(rankings)
        start = _lap(timings, "fusion", start)
        for name, stage in self.stages:
            _check_cancelled(plan)
            try:
                ranking = stage.apply(ranking, plan)
                ranking = enforce_ceilings(ranking, capped) if capped else ranking
            except WatersmeetError as error:  # keep the ranking from before this stage
                failures.append(Failure(name, str(error), error.hint))
            start = _lap(timings, name, start)
            if len(ranking.hits) >= min(READ, len(confidence_ranking.hits)):
                confidence_ranking = ranking
        if self.normalize:
            ranking = _normalized(ranking, plan.top_n)
        if plan.explain:
            ranking = ranking.explained(fused)
            _lap(timings, "explain", start)
        return Outcome(plan, tuple(rankings), fused, ranking, tuple(failures), timings, confidence_ranking)

    def _understood(self, plan: Plan) -> tuple[Plan, list[Failure]]:
        """Run the query steps; a failing step leaves the plan unchanged."""
        failures: list[Failure] = []
        for step in self.understand:
            try:
                plan = step.apply(plan)
            except WatersmeetError as error:
                name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(step).__name__).lower()
                failures.append(Failure(name, str(error), error.hint))
        return plan, failures

    def _ranked(self, plan: Plan, timings: dict[str, float], scores: Scores) -> tuple[list[Ranking], list[Failure]]:
        """Run the signals of the plan in parallel, then those that rank or derive from the others' results."""
        limited = plan.only and any(name in plan.only for name, _ in self.signals)
        active = {name: signal for name, signal in self.signals if not limited or name in plan.only}
        first = {n: partial(signal.rank, plan) for n, signal in active.items() if self.follow.get(n) not in active}
        filling = self.models if self.fusion.fills else frozenset()
        needed = [name for name in active if name not in first or name in filling]
        found, failures = self._fan_out("rank", first, timings, partial(scores.compute_ahead, needed))
        scores.stop_ahead()
        rankings = list(found.values())
        leading = {ranking.by for ranking in rankings if ranking.hits}
        follow = [name for name in active if name not in first and self.follow[name] in leading]
        alone = {n: partial(signal.rank, plan) for n, signal in active.items() if n not in first and n not in follow}
        found, late = self._fan_out("rank", alone, timings)
        rankings += found.values()
        derived = [pair for pair in self.derived if not limited or pair[0] in plan.only]
        work = {name: partial(signal.derive, plan, rankings) for name, signal in derived}
        found, missed = self._fan_out("derive", work, timings)
        _check_cancelled(plan)
        rankings, later = self._scored([*rankings, *found.values()], follow, timings, scores)
        return rankings, [*failures, *late, *missed, *later]

    def _scored(
        self, rankings: Sequence[Ranking], follow: Collection[str], timings: dict[str, float], scores: Scores
    ) -> tuple[list[Ranking], list[Failure]]:
        """Rank the candidates by the followers, and fill in missing scores of each signal that can score."""
        took: dict[str, float] = {}
        chunks = _candidates(rankings)
        work = {name: partial(_ranked_by, name, chunks, scores) for name in follow}
        if self.fusion.fills:
            gaps = [r for r in rankings if 0 < len(r.hits) < len(chunks) and not r.whole and r.by in scores.signals]
            work |= {ranking.by: partial(_filled, ranking, chunks, scores) for ranking in gaps}
        found, failures = self._fan_out("score", work, took)
        timings |= {name: took.pop(name) for name in follow if name in took}
        if self.fusion.fills:
            timings["fill"] = sum(took.values())
        whole = [found.pop(ranking.by, ranking) for ranking in rankings]
        return [*whole, *found.values()], failures

    def _fan_out(
        self,
        operation: str,
        work: Mapping[str, Callable[[], T]],
        timings: dict[str, float],
        then: Callable[[T], object] | None = None,
    ) -> tuple[dict[str, T], list[Failure]]:
        """Run work in parallel. Errors and timeouts become failures in the answer.

        Work that was quick last time runs in the calling thread: threads compete for the interpreter, and waiting for
        one costs more. While a model runs here, outside the interpreter lock, threads run the others, and then call
        `then` with each result.
        """
        end = perf_counter() + self.deadline
        took = {name: self.took.get((operation, name), inf) for name in work}
        slowest = sorted(work, key=lambda name: -took[name])
        inline = [name for name in slowest if took[name] < INLINE_MS and name not in self.remote]
        if inline and inline[0] in self.models and took[inline[0]] >= MODEL_MS:
            inline = [inline[0], *(name for name in inline[1:] if took[name] < THREAD_MS)]
        else:
            then = None
        after = partial(_on_value, then) if then else None
        started = {name: Task(partial(_timed, work[name]), after) for name in slowest if name not in inline}
        for name, new_task in started.items():
            self.threads.submit(new_task, name if name in self.remote else "")
        done: dict[str, T] = {}
        failed: dict[str, Failure] = {}
        for name in (*inline, *started):
            task = started.get(name)
            try:
                value, took_ms = task.result(max(0.0, end - perf_counter())) if task else _timed(work[name])
                done[name] = value
                timings[name] = self.took[operation, name] = took_ms
            except Exception as error:  # noqa: BLE001 - a failing signal must not stop the others
                self.took.pop((operation, name), None)
                failed[name] = _failure(name, error, task is None or task.done, self.deadline)
        return {name: done[name] for name in work if name in done}, [failed[name] for name in work if name in failed]


def _ignored_signals(fusion: Fusion, rankings: Sequence[Ranking]) -> list[Failure]:
    """A failure for each signal whose hits this fusion ignores; most fusions use all signals."""
    counted: tuple[str, ...] | None = getattr(fusion, "counted", None)
    name = type(fusion).__name__.lower()
    reason = f"not used: the fusion {name} counts {' and '.join(counted or ())} only"
    hint = 'pipeline.fusion = "rrf" counts every signal'
    return [Failure(r.by, reason, hint) for r in rankings if counted is not None and r.hits and r.by not in counted]


def _candidates(rankings: Sequence[Ranking]) -> set[ChunkId]:
    return {hit[0] for ranking in rankings for hit in ranking.hits}


def _ranked_by(name: str, chunks: set[ChunkId], scores: Scores) -> Ranking:
    """Candidates of the other signals, ranked by this one."""
    return Ranking.by_score(name, scores.of(name, chunks))


def _filled(ranking: Ranking, chunks: set[ChunkId], scores: Scores) -> Ranking:
    return ranking.with_filled(scores.of(ranking.by, chunks.difference([hit[0] for hit in ranking.hits])))


def _normalized(ranking: Ranking, top_n: int) -> Ranking:
    hits = ranking.hits[:top_n]
    if hits and (hits[0].score != 1.0 or hits[-1].score < 0):
        return ranking.unit(top_n)
    return ranking if len(hits) == len(ranking.hits) else Ranking(ranking.by, hits, ranking.notes, ranking.filled)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    start = perf_counter()
    return work(), (perf_counter() - start) * 1000


def _on_value(then: Callable[[T], object], found: tuple[T, float]) -> object:
    return then(found[0])


def _check_cancelled(plan: Plan) -> None:
    if plan.stop is not None and plan.stop():
        raise Stopped("the search was cancelled")


def _lap(timings: dict[str, float], name: str, start: float) -> float:
    now = perf_counter()
    timings[name] = (now - start) * 1000
    return now


def _failure(name: str, error: Exception, done: bool, deadline: float) -> Failure:
    if isinstance(error, TimeoutError) and not done:
        return Failure(name, f"no answer within {deadline:g} s", "raise pipeline.deadline_ms or leave the signal out")
    if isinstance(error, WatersmeetError):
        return Failure(name, str(error), error.hint)
    return Failure(name, f"{type(error).__name__}: {error}", "run `watersmeet doctor`")
