"""The query path of a registry: the recipe's signals, asked for each kind, then the stages for entities."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.model import Condition, Evidence, Failure, Hit, Plan, Ranking
from watersmeet.core.ports import Entities, Stage
from watersmeet.engine.diagnostics import listening, note
from watersmeet.engine.modes import MODES, VECTORS, WORDS, choose, really, wants_vectors
from watersmeet.engine.pipeline import Outcome, Pipeline
from watersmeet.engine.registry.perkind import PerKind
from watersmeet.engine.registry.spoken import Spoken
from watersmeet.engine.settings import Settings, merge
from watersmeet.engine.trace import sure

if TYPE_CHECKING:
    from watersmeet.engine.confidence import Confidence
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.session import Session
    from watersmeet.store.view import SqliteView

LEAST = 30
LEAST_FILLED = 20
"""... where each signal scores what only another found: together they have as many."""
LEAST_IN_ALL = 50
LEAST_OF_A_KIND = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of the path. `lexical` are the signals and stages where there is nothing but words."""

    text: str
    condition: Condition
    kinds: tuple[str, ...]
    top_n: int
    stages: tuple[str, ...]
    signals: tuple[str, ...] = ()
    lexical: tuple[tuple[str, ...], tuple[str, ...]] = (WORDS, ("unit",))
    only: tuple[str, ...] = ()  # the kinds that may be in the result; empty: all
    mode: str = ""
    intent: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    mode: str
    outcome: Outcome
    entities: Entities
    view: SqliteView
    sure: Callable[[], Confidence | None]
    """How sure it is; asked for while the index is still as the query saw it."""


def candidates(top_n: int, kinds: int, least: int = LEAST) -> int:
    """How many of each kind a signal ranks: twice what is asked for, and in all three times that."""
    return max(2 * top_n, least, -(-max(3 * top_n, LEAST_IN_ALL) // max(1, kinds)))


@contextmanager
def run(engine: Engine, settings: Settings, asked: Asked) -> Iterator[Ran]:
    """The outcome, with the index still as the query saw it."""
    pipeline, index = settings.section("pipeline"), settings.section("index")
    plan = Plan(
        text=asked.text,
        intent=asked.intent,
        condition=asked.condition,
        top_n=asked.top_n,
        now=datetime.now(UTC),
        pool=max(pipeline.pool, pipeline.pool_times * asked.top_n, asked.top_n),
    )
    vectors = wants_vectors(asked.mode) and index.vectors
    with engine._session() as session, session.moment() as view:
        gates = view.needed(asked.condition.gates)
        plan = replace(plan, condition=replace(plan.condition, gates=gates))
        coverage = session.coverage() if vectors else {}
        voting = asked.signals or tuple(pipeline.signals)
        mode, signals = choose(asked.mode, voting, coverage, index.take_part)
        if mode == "hybrid" and coverage and not any(signal in VECTORS for signal in signals):
            ready = [tier for tier in ("dense", "static") if coverage.get(tier, 0.0) >= index.take_part]
            signals = (*signals, *ready[:1])  # the best model that there is speaks for the one that is not
        entities = session.entities
        path = _Path(session, settings, entities, asked)
        failures: tuple[Failure, ...] = ()
        outcome = None
        if any(signal in VECTORS for signal in signals):
            outcome = path.made(signals, asked.stages).run(plan)
            mode = really(mode, [ranking.by for ranking in outcome.rankings])
            failures = outcome.failures
            if not any(ranking.by in VECTORS for ranking in outcome.rankings):
                outcome = None
        if outcome is None:
            mode = mode if mode in MODES and set(MODES[mode]) <= set(WORDS) else "lexical"
            words = (MODES[mode], asked.stages) if mode == "exact" else asked.lexical
            outcome = path.made(*words).run(plan)
            outcome = replace(outcome, failures=tuple(dict.fromkeys((*failures, *outcome.failures))))
        if vectors:
            engine._note(view, settings, coverage, outcome)
        if listening():
            note(outcome, view.passages([hit.chunk for hit in outcome.ranking.hits]))
        yield Ran(mode, outcome, entities, view, lambda: sure(session, view, outcome))


@dataclass(frozen=True, slots=True)
class _Path:
    session: Session
    settings: Settings
    entities: Entities
    asked: Asked

    def made(self, signals: tuple[str, ...], stages: Sequence[str]) -> Pipeline:
        """The recipe's pipeline with these stages, its signals asked kind by kind."""
        tables = merge(self.settings.tables, {"pipeline": {"stages": list(stages)}})
        name = f"{self.settings.recipe} {','.join(stages)}"
        pipeline = self.session.pipeline(replace(self.settings, recipe=name, tables=tables), signals)
        fills = pipeline.fusion.fills
        most = candidates(self.asked.top_n, len(self.asked.kinds), LEAST_FILLED if fills else LEAST)
        few = max(LEAST_OF_A_KIND, -(-self.asked.top_n // 2))  # what is filled in later need not be ranked
        wrapped = []
        for by, signal in pipeline.signals:
            enough = few if fills and by != "boost" else 0  # the words of boosts are kept by kind
            wrapped.append((by, PerKind(by, signal, self.entities, self.asked.kinds, most, enough)))
        fusion = _Alone() if len(wrapped) == 1 else pipeline.fusion
        after = self._only(pipeline.stages)
        if fills:
            after = [(name, Spoken(self.entities, stage) if name == "floor" else stage) for name, stage in after]
        return replace(pipeline, signals=wrapped, derived=(), fusion=fusion, stages=after, promise=False)

    def _only(self, stages: Sequence[tuple[str, Stage]]) -> list[tuple[str, Stage]]:
        """Kinds that are searched for the sake of others leave before the places are shared out."""
        if not self.asked.only:
            return list(stages)
        names = [name for name, _ in stages]
        place = names.index("distribute") if "distribute" in names else len(names)
        return [*stages[:place], ("only", _Only(self.entities, self.asked.only)), *stages[place:]]


@dataclass(frozen=True, slots=True)
class _Alone:
    """One ranking and its scores, as they are: nothing is lost of how far the others are behind the best."""

    fills: ClassVar[bool] = False

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        if not rankings:
            return Ranking("nothing")
        only = rankings[0]
        hits = (
            Hit(hit.chunk, hit.score, (Evidence(only.by, rank, hit.score, _share(hit, only)),))
            for rank, hit in enumerate(only.hits, 1)
        )
        return Ranking(only.by, tuple(hits))


def _share(hit: Hit, ranking: Ranking) -> dict[str, Any]:
    return {"contribution": hit.score, **ranking.notes.get(hit.chunk, {})}


@dataclass(frozen=True, slots=True)
class _Only:
    entities: Entities
    kinds: tuple[str, ...]

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        leads = self.entities.leads([hit.chunk for hit in ranking.hits])
        return Ranking(ranking.by, tuple(hit for hit in ranking.hits if leads[hit.chunk].kind in self.kinds))


def certainty(sure: Confidence | None) -> dict[str, Any]:
    """How sure an answer is, as its JSON says it."""
    return {
        "confidence": sure.probability if sure else None,
        "no_good_match": sure is not None and not sure.fits,
    }


def elapsed(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 3)
