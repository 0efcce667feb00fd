"""The fan-out: who works where, who is late, who only ranks what others found."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import pytest

from watersmeet.core.model import ChunkId, Hit, Plan, Ranking
from watersmeet.engine.components import build
from watersmeet.engine.query.pipeline import Pipeline
from watersmeet.engine.query.threads import Threads


@dataclass
class Says:
    """A signal that says what it is told to say, and where it was asked."""

    by: str
    scores: dict[str, float]
    takes: float = 0.0
    pool: int = 0
    where: list[int] = field(default_factory=list)
    filled: list[set[str]] = field(default_factory=list)

    def rank(self, plan: Plan) -> Ranking:
        self.where.append(threading.get_ident())
        time.sleep(self.takes)
        return Ranking.of(self.by, (Hit(ChunkId(c), s) for c, s in self.scores.items() if s > 0), self.pool)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        self.filled.append(set(ids))
        return {chunk: abs(self.scores[chunk]) for chunk in ids if chunk in self.scores}


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(4)
    yield made
    made.close()


def pipeline(threads: Threads, *signals: Says, deadline: float = 5.0, **more: object) -> Pipeline:
    fusion = build("fusion", "convex", {})
    named = [(signal.by, signal) for signal in signals]
    return Pipeline((), named, (), fusion, (), deadline, threads, **more)  # type: ignore[arg-type] # any option


@pytest.mark.parametrize(
    ("quick", "slow", "model", "here"),
    [
        (None, None, "b", (False, False)),  # nobody knows yet
        (0.5, 0.9, "b", (True, True)),
        (0.5, 30.0, "b", (True, False)),
        (6.0, 8.0, "", (True, True)),  # two that run Python would take turns
        (6.0, 8.0, "a", (True, True)),
        (6.0, 8.0, "b", (False, True)),  # while a model works, a thread does the other
        (0.1, 8.0, "b", (True, True)),  # ... if that is worth it
        (20.0, 30.0, "b", (False, False)),
    ],
)
def test_what_was_quick_is_done_in_place(
    threads: Threads, quick: float | None, slow: float | None, model: str, here: tuple[bool, bool]
) -> None:
    one, other = Says("a", {"x": 1.0}), Says("b", {"y": 1.0})
    path = pipeline(threads, one, other, models=frozenset({model}))
    path.took.update({("rank", name): took for name, took in (("a", quick), ("b", slow)) if took is not None})
    path.run(Plan("q"))
    assert (one.where[0] == threading.get_ident(), other.where[0] == threading.get_ident()) == here
    assert path.took.keys() >= {("rank", "a"), ("rank", "b")}


@pytest.mark.slow
def test_who_was_quick_and_is_late_once_holds_nobody_up_again(threads: Threads) -> None:
    signal, other = Says("a", {"x": 1.0}, takes=0.9), Says("b", {"y": 1.0})
    path = pipeline(threads, signal, other, deadline=0.2)
    path.took.update({("rank", "a"): 0.1, ("rank", "b"): 0.1})
    assert not path.run(Plan("q")).failures  # done in place: it was quick before
    start = time.perf_counter()
    late = path.run(Plan("q"))
    assert time.perf_counter() - start < 0.8
    assert [failure.by for failure in late.failures] == ["a"]


@pytest.mark.slow
def test_who_waits_for_another_machine_is_never_done_in_place(threads: Threads) -> None:
    signal, other = Says("a", {"x": 1.0}), Says("b", {"y": 1.0})
    path = pipeline(threads, signal, other, deadline=0.2, remote=frozenset({"a"}))
    path.took.update({("rank", "a"): 0.1, ("rank", "b"): 0.1})
    signal.takes = 0.9
    start = time.perf_counter()
    late = path.run(Plan("q"))
    assert time.perf_counter() - start < 0.8
    assert [failure.by for failure in late.failures] == ["a"]


def test_who_found_all_there_is_is_not_asked_for_more(threads: Threads) -> None:
    plan = Plan("q", pool=2)
    all_said, more_to_say = Says("a", {"x": 1.0}, pool=2), Says("b", {"y": 2.0, "z": 1.0, "x": -0.5}, pool=2)
    outcome = pipeline(threads, all_said, more_to_say).run(plan)
    assert all_said.filled == []
    assert more_to_say.filled == [{"x"}]
    assert {ranking.by: dict(ranking.filled) for ranking in outcome.rankings} == {"a": {}, "b": {"x": 0.5}}


def test_a_follower_ranks_what_the_others_found(threads: Threads) -> None:
    leader, follower = Says("a", {"x": 2.0, "y": 1.0}), Says("b", {"x": 1.0, "y": 3.0, "z": 9.0})
    outcome = pipeline(threads, leader, follower, follow={"b": "a"}).run(Plan("q"))
    assert follower.where == []
    assert [(hit.chunk, hit.score) for hit in outcome.rankings[1].hits] == [("y", 3.0), ("x", 1.0)]


@pytest.mark.slow
def test_while_a_model_works_a_thread_scores_what_the_words_found(threads: Threads) -> None:
    """The same scores as if nobody had looked ahead; only what the model found is asked for afterwards."""
    words = Says("words", {"x": 2.0, "y": 1.0})
    model = Says("model", {"z": 3.0, "y": 1.0, "x": -0.5}, takes=0.3)
    follower = Says("follower", {"x": 1.0, "y": 3.0, "z": 2.0})
    signals, follow = (words, model, follower), {"follower": "model"}
    before = pipeline(threads, *signals, follow=follow).run(Plan("q"))
    assert follower.filled.pop() == {"x", "y", "z"}
    assert (words.filled.pop(), model.filled.pop()) == ({"z"}, {"x"})
    path = pipeline(threads, *signals, follow=follow, models=frozenset({"model"}))
    path.took.update({("rank", "words"): 1.0, ("rank", "model"): 8.0})
    after = path.run(Plan("q"))
    assert follower.filled == [{"x", "y"}, {"z"}]
    assert (words.filled, model.filled) == ([{"z"}], [{"x", "y"}])
    assert (after.rankings, after.ranking) == (before.rankings, before.ranking)


def test_who_cannot_look_ahead_does_no_harm(threads: Threads) -> None:
    class Fails(Says):
        def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
            raise OSError("gone")

    words, model = Says("words", {"x": 2.0, "y": 1.0}), Fails("model", {"z": 3.0, "y": 1.0}, takes=0.1)
    path = pipeline(threads, words, model, models=frozenset({"model"}))
    path.took.update({("rank", "words"): 1.0, ("rank", "model"): 8.0})
    outcome = path.run(Plan("q"))
    assert [failure.by for failure in outcome.failures] == ["model"]
    assert {hit.chunk for hit in outcome.ranking.hits} == {"x", "y", "z"}


@pytest.mark.parametrize("leader", [None, Says("a", {})])
def test_a_follower_searches_itself_where_nobody_leads(threads: Threads, leader: Says | None) -> None:
    follower = Says("b", {"x": 1.0, "z": 9.0})
    signals = [follower] if leader is None else [leader, follower]
    outcome = pipeline(threads, *signals, follow={"b": "a"}).run(Plan("q"))
    assert [hit.chunk for hit in outcome.ranking.hits] == ["z", "x"]


def test_only_what_remains_is_told_of(threads: Threads) -> None:
    outcome = pipeline(threads, Says("a", {"x": 2.0, "y": 1.0})).run(Plan("q"))
    assert all(hit.evidence for hit in outcome.ranking.hits)
    assert not any(hit.evidence for hit in outcome.fused.hits)
    assert outcome.fused.explained().hits == outcome.ranking.hits
    assert not pipeline(threads, Says("a", {"x": 2.0})).run(Plan("q", explain=False)).ranking.hits[0].evidence
