from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from watersmeet.core.model import Plan
from watersmeet.stage.recency import Recency

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
PLAN = Plan("q", now=NOW)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("age", "factor"),
    [
        (timedelta(0), 1.2),
        (timedelta(days=7), 1.2),
        (timedelta(days=7) + SECOND, 1.1),
        (timedelta(days=30), 1.1),
        (timedelta(days=30) + SECOND, 1.0),
        (timedelta(days=9000), 1.0),
        (-timedelta(days=3), 1.2),
    ],
)
def test_the_factor_by_age(shelf, ranked, age: timedelta, factor: float) -> None:
    shelf.put("a", modified=NOW - age)
    (hit,) = Recency(shelf).apply(ranked({"a": 0.5}), PLAN).hits
    assert hit.score == pytest.approx(0.5 * factor, abs=1e-12)
    said = [(e.by, e.rank, e.score, e.detail) for e in hit.evidence]
    assert said == ([("recency", 1, hit.score, {"factor": factor})] if factor != 1.0 else [])


def test_new_overtakes_old_and_no_date_is_no_factor(shelf, ranked) -> None:
    shelf.put("old", modified=NOW - timedelta(days=90))
    shelf.put("new", modified=NOW - timedelta(days=1))
    shelf.put("undated")
    out = Recency(shelf).apply(ranked({"old": 1.0, "undated": 0.95, "new": 0.9}), PLAN)
    assert [(hit.chunk, round(hit.score, 6)) for hit in out.hits] == [("new", 1.08), ("old", 1.0), ("undated", 0.95)]
    assert out.hits[0].evidence[0].rank == 1


def test_a_boost_lifts_what_is_below_zero_too(shelf, ranked) -> None:
    shelf.put("old", modified=NOW - timedelta(days=90))
    shelf.put("new", modified=NOW)
    out = Recency(shelf).apply(ranked({"old": -0.5, "new": -0.5}), PLAN)
    assert [hit.chunk for hit in out.hits] == ["new", "old"]


def test_limits_and_factors_are_settings_and_now_is_given(shelf, ranked) -> None:
    shelf.put("a", modified=NOW - timedelta(days=2))
    stage = Recency(shelf, fresh_days=1, fresh=9, recent_days=2, recent=3)
    assert stage.apply(ranked({"a": 1.0}), PLAN).hits[0].score == 3
    assert stage.apply(ranked({"a": 1.0}), Plan("q")).hits[0].score == 1


@pytest.mark.parametrize("shift", [0.0, -1000.0])
def test_the_first_are_as_if_all_had_been_looked_at(shelf, ranked, shift: float) -> None:
    scores = {}
    for number in range(300):
        scores[shelf.put(f"{number:03}", modified=NOW - timedelta(days=number % 40))] = 300.0 - number + shift
    factors = {id: 1.2 if int(id) % 40 <= 7 else 1.1 if int(id) % 40 <= 30 else 1.0 for id in scores}
    whole = ranked({id: s * factors[id] if s >= 0 else s / factors[id] for id, s in scores.items()})
    out = Recency(shelf).apply(ranked(scores), Plan("q", now=NOW, top_n=10))
    assert [hit.chunk for hit in out.hits[:50]] == [hit.chunk for hit in whole.hits[:50]]
    assert len(out.hits) == 300


def test_three_pages_that_differ_in_age_only(staged, write) -> None:
    engine = staged("recency", "top")
    vault = write({f"{name}.md": "# Tides\n\nThe tide comes in twice a day.\n" for name in ("a", "b", "c")})
    for name, days in (("a", 60), ("b", 20), ("c", 1)):
        stamp = time.time() - days * 86400
        os.utime(vault / f"{name}.md", (stamp, stamp))
    engine.sync([vault])
    results = engine.search("tide").results
    assert [result.document for result in results] == ["c.md", "b.md", "a.md"]
    base = results[2].score
    assert [result.score / base for result in results] == pytest.approx([1.2, 1.1, 1.0], abs=1e-9)
    assert len({round(result.fusion_score, 9) for result in results}) == 1
    assert results[0].score == 1.0
