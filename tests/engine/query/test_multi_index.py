"""Several indexes in one search."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Request
from watersmeet.engine.query.multi_index import MultiIndex
from watersmeet.engine.settings.settings import load

SEA = {"tide.md": "# Tide\n\nThe tide rises twice a day.", "moon.md": "# Moon\n\nThe moon pulls the sea."}
LAND = {"fox.md": "# Fox\n\nA fox sleeps by day.", "oak.md": "---\ntags: [tree]\n---\n# Oak\n\nAn oak grows slowly."}


@pytest.fixture
def both(tmp_path: Path) -> MultiIndex:
    engines = []
    for name, pages in (("sea", SEA), ("land", LAND)):
        (tmp_path / name).mkdir()
        for page, text in pages.items():
            (tmp_path / name / page).write_text(text)
        environ = {"WATERSMEET__INDEX__DENSE": "", "WATERSMEET__INDEX__SPARSE": ""}
        engine = Engine(tmp_path / f"{name}-index", load(start=str(tmp_path), environ=environ))
        engine.sync([tmp_path / name])
        engines.append(engine)
    return MultiIndex(engines)


@pytest.mark.model
def test_the_index_that_is_surer_comes_first(both: MultiIndex) -> None:
    for query, first, place in (("tide rises", "tide.md", 0), ("fox sleeps", "fox.md", 1)):
        answer = both.search(query, top_n=3)
        assert (answer.results[0].document, answer.results[0].index) == (first, both.engines[place].folder)
        scores = [result.score for result in answer.results]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == 1.0
        assert len({result.index for result in answer.results}) == 2
        parts = [engine.search(query) for engine in both.engines]
        assert answer.confidence == max(part.confidence or 0 for part in parts)
        sure = parts[place].confidence
        told = next(one for one in answer.results[0].evidence if one.by == "index")
        assert told.detail["path"] == f"{both.engines[place].folder}, confidence {sure:.3f}"


@pytest.mark.model
def test_filters_notes_and_why_not_are_of_all(both: MultiIndex) -> None:
    request = Request("oak", top_n=5)
    assert both.why_not(request, "oak.md").place == "result"
    assert both.why_not(request, "nowhere.md").place == "index"
    only = both.search("grows", filters={"tag": "tree"})
    assert [result.document for result in only.results] == ["oak.md"]
    from watersmeet.engine.query.filters import condition

    assert both.unknown_fields(Request("x", condition=condition(["tag=tree"]))) == []
    assert both.unknown_fields(Request("x", condition=condition(["colour=red"])))


def test_none_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no index"):
        MultiIndex([])


@pytest.mark.model
def test_a_least_score_is_of_all_together(both: MultiIndex) -> None:
    answer = both.search("tide rises", top_n=4, min_score=0.9)
    assert {result.document for result in answer.results} == {"tide.md"}
    assert both.search("tide rises", top_n=4).mode == "hybrid"


@pytest.mark.model
def test_a_result_of_one_may_stand_behind_those_of_another(both: MultiIndex) -> None:
    found = both.why_not(Request("tide rises day", top_n=1), "fox.md")
    assert found.place == "cut"
    assert "below results of other indexes" in found.reason or "requested" in found.reason


@pytest.mark.model
def test_a_field_that_none_has_is_said_whatever_is_nearest(both: MultiIndex) -> None:
    from watersmeet.engine.query.filters import condition

    assert both.unknown_fields(Request("x", condition=condition(["tga=tree"])))
