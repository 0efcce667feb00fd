"""The query path, in the order it happens: signals in parallel, fusion, stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import perf_counter
from typing import TypeVar, cast

from watersmeet.core.errors import Stopped, WatersmeetError
from watersmeet.core.model import ChunkId, Failure, Plan, Ranking
from watersmeet.core.ports import Derived, Fusion, Scorer, Signal, Stage, Step
from watersmeet.engine.query.ceilings import apply_ceilings, capped_only, enforce_ceilings
from watersmeet.engine.query.confidence import READ
from watersmeet.engine.query.threads import Task, Threads

T = TypeVar("T")
INLINE_MS = 10.0
"""What took fewer milliseconds needs no thread."""
MODEL_MS = 2.0
"""Beside a model that works longer than this, the others are done by a thread ..."""
THREAD_MS = 0.4
"""... if they take so long themselves."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outcome:
    """What came of a plan: what each signal ranked, the fused ranking before the stages, and the last one."""

    plan: Plan
    rankings: tuple[Ranking, ...]
    fused: Ranking
    ranking: Ranking
    failures: tuple[Failure, ...]
    timings: dict[str, float]
    confidence_ranking: Ranking
    """The last ranking that has a few hits, if only one was asked for: by these it is judged."""


@dataclass(slots=True)
class Scores:
    """Of one plan; what was asked for ahead is not asked for again."""

    plan: Plan
    signals: Mapping[str, Scorer]
    _known: dict[str, dict[ChunkId, float]] = field(default_factory=dict)
    _needed: bool = False

    def of(self, name: str, chunks: set[ChunkId]) -> dict[ChunkId, float]:
        """What this signal says of these chunks."""
        known = self._known.get(name, {})
        scores = {chunk: known[chunk] for chunk in chunks if chunk in known}
        others = chunks - scores.keys() if scores else chunks
        return {**scores, **self.signals[name].score(self.plan, others)} if others else scores

    def ahead(self, names: Collection[str], found: Ranking) -> None:
        """What these signals will be asked of what one found, as long as nobody waits for it."""
        chunks = [hit.chunk for hit in found.hits]
        for name in names if chunks else ():
            if self._needed:
                return
            self._known[name] = {**self._known.get(name, {}), **self.signals[name].score(self.plan, chunks)}

    def now(self) -> None:
        """What was not asked for ahead by now is asked for when it is needed: two threads would only take turns."""
        self._needed = True


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
    """Signals that rank what the others found, each as long as another one votes."""
    afar: frozenset[str] = frozenset()
    """Signals that wait for another machine: however quick they were, none is done in place."""
    promise: bool = True
    """However few the stages: no more hits than were asked for, scores from 0 to 1, the best at 1."""
    models: frozenset[str] = frozenset()
    """Signals that spend most of their time in a model, without Python."""
    took: dict[tuple[str, str], float] = field(default_factory=dict)
    """How many milliseconds each signal took last, for what."""

    def run(self, plan: Plan, cap: Callable[[Ranking], Ranking] | None = None) -> Outcome:
        """`cap` is a wrapper's say between fusion and the stages."""
        timings: dict[str, float] = {}
        start = perf_counter()
        plan, misread = self._understood(plan)
        start = _lap(timings, "understand", start)
        _go_on(plan)
        scorers = {name: cast(Scorer, signal) for name, signal in self.signals if hasattr(signal, "score")}
        scores = Scores(plan, scorers)
        rankings, failures = self._ranked(plan, timings, scores)
        failures = [*misread, *failures, *_dropped(self.fusion, rankings)]
        start = perf_counter()
        fused = ranking = apply_ceilings(self.fusion.fuse(rankings, plan), rankings)
        ranking = looked_at = cap(fused) if cap else fused
        capped = capped_only(rankings)
        start = _lap(timings, "fusion", start)
        for name, stage in self.stages:
            _go_on(plan)
            try:
                ranking = stage.apply(ranking, plan)
                ranking = enforce_ceilings(ranking, capped) if capped else ranking
            except WatersmeetError as error:  # the ranking stays as it was before this stage
                failures.append(Failure(name, str(error), error.hint))
            start = _lap(timings, name, start)
            if len(ranking.hits) >= min(READ, len(looked_at.hits)):
                looked_at = ranking
        if self.promise:
            ranking = _promised(ranking, plan.top_n)
        if plan.explain:
            ranking = ranking.explained(fused)
            _lap(timings, "tell", start)
        return Outcome(plan, tuple(rankings), fused, ranking, tuple(failures), timings, looked_at)

    def _understood(self, plan: Plan) -> tuple[Plan, list[Failure]]:
        """A step that cannot run leaves the plan as it was."""
        failures: list[Failure] = []
        for step in self.understand:
            try:
                plan = step.apply(plan)
            except WatersmeetError as error:
                name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(step).__name__).lower()
                failures.append(Failure(name, str(error), error.hint))
        return plan, failures

    def _ranked(self, plan: Plan, timings: dict[str, float], scores: Scores) -> tuple[list[Ranking], list[Failure]]:
        """Ask every signal that the plan lets run at once; then those that read the others' rankings."""
        barred = plan.only and any(name in plan.only for name, _ in self.signals)
        asked = {name: signal for name, signal in self.signals if not barred or name in plan.only}
        first = {n: partial(signal.rank, plan) for n, signal in asked.items() if self.follow.get(n) not in asked}
        filling = self.models if self.fusion.fills else frozenset()
        needed = [name for name in asked if name not in first or name in filling]
        found, failures = self._fan_out("rank", first, timings, partial(scores.ahead, needed))
        scores.now()
        rankings = list(found.values())
        leading = {ranking.by for ranking in rankings if ranking.hits}
        follow = [name for name in asked if name not in first and self.follow[name] in leading]
        alone = {n: partial(signal.rank, plan) for n, signal in asked.items() if n not in first and n not in follow}
        found, late = self._fan_out("rank", alone, timings)
        rankings += found.values()
        derived = [pair for pair in self.derived if not barred or pair[0] in plan.only]
        work = {name: partial(signal.derive, plan, rankings) for name, signal in derived}
        found, missed = self._fan_out("derive", work, timings)
        _go_on(plan)
        rankings, later = self._scored([*rankings, *found.values()], follow, timings, scores)
        return rankings, [*failures, *late, *missed, *later]

    def _scored(
        self, rankings: Sequence[Ranking], follow: Collection[str], timings: dict[str, float], scores: Scores
    ) -> tuple[list[Ranking], list[Failure]]:
        """What was found as the followers rank it, and every candidate scored by every signal that can.

        One that cannot score what others found leaves its gaps.
        """
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
        doing: str,
        work: Mapping[str, Callable[[], T]],
        timings: dict[str, float],
        then: Callable[[T], object] | None = None,
    ) -> tuple[dict[str, T], list[Failure]]:
        """All at once. What fails or is late becomes a failure in the answer.

        What was quick last time is done here: threads that run Python take turns, and to wait for one costs more. But
        while a model works a thread can do the others, and has done them before they are missed; `then` is what it does
        with each result while it is at it.
        """
        end = perf_counter() + self.deadline
        took = {name: self.took.get((doing, name), inf) for name in work}
        slowest = sorted(work, key=lambda name: -took[name])
        here = [name for name in slowest if took[name] < INLINE_MS and name not in self.afar]
        if here and here[0] in self.models and took[here[0]] >= MODEL_MS:
            here = [here[0], *(name for name in here[1:] if took[name] < THREAD_MS)]
        else:
            then = None
        after = partial(_untimed, then) if then else None
        begun = {name: Task(partial(_timed, work[name]), after) for name in slowest if name not in here}
        for name, task in begun.items():
            self.threads.submit(task, name if name in self.afar else "")
        done: dict[str, T] = {}
        failed: dict[str, Failure] = {}
        for name in (*here, *begun):
            waited = begun.get(name)
            try:
                value, took_ms = waited.result(max(0.0, end - perf_counter())) if waited else _timed(work[name])
                done[name] = value
                timings[name] = self.took[doing, name] = took_ms
            except Exception as error:  # noqa: BLE001 - the fan-out: a signal's failure is a value
                self.took.pop((doing, name), None)
                failed[name] = _failure(name, error, waited is None or waited.done, self.deadline)
        return {name: done[name] for name in work if name in done}, [failed[name] for name in work if name in failed]


def _dropped(fusion: Fusion, rankings: Sequence[Ranking]) -> list[Failure]:
    """The signals that have found something and that this fusion does not count; most count all."""
    counted: tuple[str, ...] | None = getattr(fusion, "counted", None)
    name = type(fusion).__name__.lower()
    reason = f"it is dropped: the fusion {name} counts {' and '.join(counted or ())} only"
    hint = 'pipeline.fusion = "rrf" counts every signal'
    return [Failure(r.by, reason, hint) for r in rankings if counted is not None and r.hits and r.by not in counted]


def _candidates(rankings: Sequence[Ranking]) -> set[ChunkId]:
    return {hit[0] for ranking in rankings for hit in ranking.hits}


def _ranked_by(name: str, chunks: set[ChunkId], scores: Scores) -> Ranking:
    """What the others found, as this signal ranks it."""
    return Ranking.by_score(name, scores.of(name, chunks))


def _filled(ranking: Ranking, chunks: set[ChunkId], scores: Scores) -> Ranking:
    return ranking.with_filled(scores.of(ranking.by, chunks.difference([hit[0] for hit in ranking.hits])))


def _promised(ranking: Ranking, top_n: int) -> Ranking:
    hits = ranking.hits[:top_n]
    if hits and (hits[0].score != 1.0 or hits[-1].score < 0):
        return ranking.unit(top_n)
    return ranking if len(hits) == len(ranking.hits) else Ranking(ranking.by, hits, ranking.notes, ranking.filled)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    start = perf_counter()
    return work(), (perf_counter() - start) * 1000


def _untimed(then: Callable[[T], object], found: tuple[T, float]) -> object:
    return then(found[0])


def _go_on(plan: Plan) -> None:
    if plan.stop is not None and plan.stop():
        raise Stopped("nobody waits for the answer any more")


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
