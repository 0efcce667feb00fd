"""The query path, in the order it happens: signals in parallel, fusion, stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.model import Failure, Plan, Ranking
from watersmeet.core.ports import Fusion, Signal, Stage, Step
from watersmeet.engine.threads import Task, Threads


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: what each signal ranked, the fused ranking before the stages, and the last one."""

    plan: Plan
    rankings: tuple[Ranking, ...]
    fused: Ranking
    ranking: Ranking
    failures: tuple[Failure, ...]
    timings: dict[str, float]


@dataclass(frozen=True, slots=True)
class Pipeline:
    understand: Sequence[Step]
    signals: Sequence[tuple[str, Signal]]
    fusion: Fusion
    stages: Sequence[tuple[str, Stage]]
    deadline: float
    threads: Threads

    def run(self, plan: Plan) -> Outcome:
        timings: dict[str, float] = {}
        start = perf_counter()
        for step in self.understand:
            plan = step.apply(plan)
        start = _lap(timings, "understand", start)
        rankings, failures = self._fan_out(plan, timings)
        start = perf_counter()
        fused = ranking = self.fusion.fuse(rankings, plan)
        start = _lap(timings, "fusion", start)
        for name, stage in self.stages:
            ranking = stage.apply(ranking, plan)
            start = _lap(timings, name, start)
        return Outcome(plan, tuple(rankings), fused, ranking, tuple(failures), timings)

    def _fan_out(self, plan: Plan, timings: dict[str, float]) -> tuple[list[Ranking], list[Failure]]:
        """Ask every signal at once. One that fails or is late becomes a failure in the answer."""
        end = perf_counter() + self.deadline
        asked = [(name, self.threads.submit(partial(_timed, signal, plan))) for name, signal in self.signals]
        rankings: list[Ranking] = []
        failures: list[Failure] = []
        for name, task in asked:
            try:
                ranking, took = task.result(max(0.0, end - perf_counter()))
            except Exception as error:  # noqa: BLE001 - the fan-out: a signal's failure is a value
                failures.append(_failure(name, error, task, self.deadline))
            else:
                rankings.append(ranking)
                timings[name] = took
        return rankings, failures


def _timed(signal: Signal, plan: Plan) -> tuple[Ranking, float]:
    start = perf_counter()
    return signal.rank(plan), (perf_counter() - start) * 1000


def _lap(timings: dict[str, float], name: str, start: float) -> float:
    now = perf_counter()
    timings[name] = (now - start) * 1000
    return now


def _failure(name: str, error: Exception, task: Task[tuple[Ranking, float]], deadline: float) -> Failure:
    if isinstance(error, TimeoutError) and not task.done:
        return Failure(name, f"no answer within {deadline:g} s", "raise pipeline.deadline_ms or leave the signal out")
    if isinstance(error, WatersmeetError):
        return Failure(name, str(error), error.hint)
    return Failure(name, f"{type(error).__name__}: {error}", "run `watersmeet doctor`")
