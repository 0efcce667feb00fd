from __future__ import annotations

from collections.abc import Sequence

import pytest

from watersmeet.core.model import ANY, Condition, Row
from watersmeet.core.ports import Term
from watersmeet.store.local.live_words import best
from watersmeet.testing.contracts.corpus import EVERYONES, OPS, chunk_of, page, visible_to

TIDES = [Term("body", "tide")]


class Counting:
    """A store that gives rows with these scores, and remembers how many were fetched."""

    def __init__(self, scores: dict[Row, float]) -> None:
        self.scores, self.fetched = scores, list[int]()

    def __call__(self, fetch: int, within: Sequence[Row] | None) -> list[tuple[Row, float]]:
        self.fetched.append(fetch)
        rows = self.scores if within is None else [row for row in within if row in self.scores]
        return sorted(((row, self.scores[row]) for row in rows), key=lambda hit: (-hit[1], hit[0]))[:fetch]


@pytest.fixture
def snapshot(harbour):
    with harbour.index.snapshot() as snapshot:
        yield snapshot


def test_dead_rows_are_passed_over_and_more_is_fetched_until_there_is_enough(snapshot) -> None:
    live = snapshot.every(ANY)
    dead = [Row(10_000 + n) for n in range(100)]
    search = Counting({**dict.fromkeys(dead, 9.0), **{row: 1.0 / (n + 1) for n, row in enumerate(live)}})
    found, ids = best(search, snapshot, ANY, 3)
    assert [row for row, _ in found] == live[:3]
    assert len(search.fetched) > 1
    assert set(ids) >= {row for row, _ in found}


def test_equal_scores_come_in_the_order_of_ids_not_of_rows(snapshot) -> None:
    rows = snapshot.every(ANY)
    found, ids = best(Counting(dict.fromkeys(rows, 1.0)), snapshot, ANY, 5)
    assert [ids[row] for row, _ in found] == sorted(snapshot.resolve(rows, ANY).values())[:5]


def test_nothing_wanted_asks_nothing(snapshot) -> None:
    search = Counting({})
    assert best(search, snapshot, ANY, 0) == ([], {})
    assert search.fetched == []


def test_a_condition_that_few_satisfy_holds_before_ranking(snapshot) -> None:
    rows = snapshot.every(ANY)
    only = Condition({"path": ("rust.md",)})
    found, ids = best(Counting({row: float(row) for row in rows}), snapshot, only, 3)
    assert [ids[row] for row, _ in found] == [chunk_of("rust.md")]


def test_words_of_private_rows_count_only_for_who_sees_them(snapshot) -> None:
    zeppelin = [Term("body", "zeppelin")]
    assert snapshot.words(EVERYONES).match(zeppelin, EVERYONES, 9) == []
    assert snapshot.words(EVERYONES).frequency("body", "zeppelin") == 0
    hers = snapshot.words(visible_to(OPS))
    assert [chunk for chunk, _ in hers.match(zeppelin, visible_to(OPS), 9)] == [chunk_of("private/ops.md")]
    assert hers.size > snapshot.words(EVERYONES).size


def test_given_chunks_have_the_scores_of_the_ranking(snapshot) -> None:
    for condition in (ANY, EVERYONES, visible_to(OPS)):
        words = snapshot.words(condition)
        ranked = dict(words.match(TIDES, condition, 99))
        assert ranked
        assert words.score(TIDES, [*ranked, "not there"]) == pytest.approx(ranked)
        assert words.match(TIDES, condition, 0) == []


def test_what_was_removed_is_not_found(local) -> None:
    filling = local(page("a.md", ((), "A tide.")), page("b.md", ((), "A tide.")))
    filling.remove(["a.md"])
    with filling.index.snapshot() as snapshot:
        found = snapshot.words(ANY).match(TIDES, ANY, 9)
        assert list(snapshot.documents_of([chunk for chunk, _ in found]).values()) == ["b.md"]
