"""What every stage promises, whatever it is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.engine.components import build, names

pytestmark = pytest.mark.slow

NOW = datetime(2026, 6, 30, tzinfo=UTC)

texts = st.sampled_from(["", "D40", "one two three", "one two three four five six seven eight nine", "E1 and D40"])
scores = st.floats(-10, 10, allow_nan=False) | st.sampled_from([0.0, 1.0])
rows = st.lists(
    st.tuples(st.text("abcdef", min_size=1, max_size=2), scores, texts, st.integers(0, 3), st.integers(0, 60)),
    max_size=25,
    unique_by=lambda row: row[0],
)


@pytest.mark.parametrize("name", names("stage"))
@given(rows=rows, top_n=st.integers(1, 8))
def test_the_promises(name: str, new_shelf, reader, rows: list[tuple[str, float, str, int, int]], top_n: int) -> None:
    shelf = new_shelf()
    for chunk, _, text, document, days in rows:
        shelf.put(chunk, text, f"{document}.md", f"T{document}", (text[:3],), NOW - timedelta(days=days))
    ranking = Ranking.of("fused", [Hit(chunk, score) for chunk, score, *_ in rows])
    plan = Plan("about D40", anchors=("D40", "E1"), top_n=top_n, now=NOW)
    stage = build("stage", name, {}, view=shelf, pair_scorer=reader, entities=shelf, words=shelf)
    out = stage.apply(ranking, plan)
    assert {hit.chunk for hit in out.hits} <= {hit.chunk for hit in ranking.hits}
    assert bool(out.hits) == bool(ranking.hits)
    assert out.by in (name, "fused")
    assert [hit.score for hit in out.hits] == sorted((hit.score for hit in out.hits), reverse=True)
    other = build("stage", name, {}, view=shelf, pair_scorer=reader, entities=shelf, words=shelf)
    assert other.apply(Ranking.of("fused", reversed(ranking.hits)), plan) == out
    for rank, hit in enumerate(out.hits, 1):
        for evidence in hit.evidence:
            assert evidence.by == name
            assert evidence.rank == rank
