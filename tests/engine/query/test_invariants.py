"""What holds whatever the settings are."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Hit, Plan, Ranking, Request
from watersmeet.core.statistics import deviation, lead
from watersmeet.engine.components import build
from watersmeet.engine.settings.settings import load

STAGES = ("document_support", "unit", "top", "recency", "floor", "per_document", "dedupe", "phrase")
PAGES = {
    f"{n}.md": f"# Tide {n}\n\nThe tide {'tide ' * n} comes in. #{'odd' if n % 2 else 'even'}\n" for n in range(20)
}


def words_only(tmp_path: Path, **tables: Any) -> Engine:
    flags = {"index": {"vectors": False}, **tables}
    return Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=flags))


@pytest.mark.slow
def test_any_list_of_stages_keeps_the_promises(tmp_path: Path, write) -> None:
    vault = write(PAGES)
    with words_only(tmp_path) as engine:
        engine.sync([vault])
    some = random.Random(1).sample(list(permutations(STAGES, 3)), 20)  # noqa: S311 - a sample
    lists: list[tuple[str, ...]] = [(), *((one,) for one in STAGES), *some]
    for stages in lists:
        with words_only(tmp_path, pipeline={"stages": list(stages)}) as engine:
            scores = [result.score for result in engine.search("tide", top_n=3).results]
            assert len(scores) == 3, stages
            assert scores[0] == 1.0, stages
            assert scores == sorted(scores, reverse=True), stages
            assert scores[-1] >= 0, stages


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["default", "docs", "notes", "registry", "identifiers"])
def test_tags_and_routes_hold_in_every_recipe(tmp_path: Path, write, recipe: str) -> None:
    route = {"rules": [{"match": "harbour", "filters": {"tag": "even"}}]}
    with words_only(tmp_path, query={"route": route}) as engine:
        engine.sync([write(PAGES)])
        for query in ("#even tide", "tide in the harbour"):
            found = engine.search(query, recipe=recipe).results
            assert found
            assert all(int(result.document.removesuffix(".md")) % 2 == 0 for result in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"fusion": {"convex": {"weights": {"lexcal": 0.1}}}}, "lexcal"),
        ({"pipeline": {"stages": ["anchor", "top"]}}, "anchors"),
        ({"two_stage": {"enabled": True, "documents": 0}}, "two_stage.documents"),
    ],
)
def test_what_would_do_nothing_is_an_error(tmp_path: Path, write, tables: dict[str, Any], said: str) -> None:
    vault = write(PAGES)
    with words_only(tmp_path) as engine:
        engine.sync([vault])
    with words_only(tmp_path, **tables) as engine, pytest.raises(ConfigError) as error:
        engine.search("tide")
    assert said in f"{error.value} {error.value.hint}"


def test_a_signal_without_weight_brings_nothing_in() -> None:
    lists = [Ranking.of("lexical", [Hit("a", 1.0)]), Ranking.of("dense", [Hit("b", 1.0)])]
    fused = build("fusion", "rrf", {"weights": {"dense": 0.0}}).fuse(lists, Plan("q"))
    assert [hit.chunk for hit in fused.hits] == ["a"]


def test_what_is_recent_is_judged_by_the_moment_that_is_given(tmp_path: Path, write) -> None:
    vault = write(
        {
            "old.md": "---\nupdated: 2020-01-01\n---\n# A\n\ntide\n",
            "new.md": "---\nupdated: 2021-01-01\n---\n# A\n\ntide\n",
        }
    )
    with words_only(tmp_path, pipeline={"stages": ["recency", "unit", "top"]}) as engine:
        engine.sync([vault])
        for year, behind in ((2021, 1 / 1.2), (2030, 1.0)):
            answer = engine.search(Request("tide"), now=datetime(year, 1, 3, tzinfo=UTC))
            assert answer.results[1].score == pytest.approx(behind)


@pytest.mark.slow
@given(st.lists(st.floats(-1e3, 1e3), min_size=7, max_size=60), st.randoms(use_true_random=False))
def test_how_scores_are_spread_does_not_depend_on_their_order(values: list[float], rng: random.Random) -> None:
    other = rng.sample(values, len(values))
    assert deviation(other) == deviation(values)
    assert lead(other) == lead(values)
