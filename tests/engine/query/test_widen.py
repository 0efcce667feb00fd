"""However many results are asked for, the first are the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Request
from watersmeet.engine.query.multi_index import MultiIndex
from watersmeet.engine.settings.settings import load
from watersmeet.face.search import SearchParams, run_search

WORDS = "tide estuary salt reed marsh heron current moon shore ebb".split()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("further")
    (folder / "docs").mkdir()
    for page in range(40):
        parts = [f"# Page {page}\n"]
        for part in range(5):
            said = " ".join(WORDS[(page * 7 + part * 3 + i * (page % 4 + 1)) % len(WORDS)] for i in range(12))
            parts.append(
                f"## Part {part}\n\nOf {said}, number {page * 5 + part}. " + "Other words come here too. " * 12
            )
        (folder / "docs" / f"{page:02}.md").write_text("\n\n".join(parts))
    environ = {
        "WATERSMEET__INDEX__DENSE": "hashed",
        "WATERSMEET__INDEX__SPARSE": "",
        "WATERSMEET__PIPELINE__POOL": "12",
    }
    with Engine(folder / "index", load(start=str(folder), environ=environ)) as made:
        made.sync([folder / "docs"])
        yield made


def found(engine: Engine, top_n: int, query: str = "salt tide at the shore") -> list[tuple[str, float]]:
    return [(result.id, result.score) for result in engine.search(query, top_n=top_n).results]


@pytest.mark.model
def test_the_first_are_the_same_however_many_are_asked_for(engine: Engine) -> None:
    many = found(engine, 150)
    assert len(many) == len(dict(many)) == 150
    assert all(before[1] >= after[1] >= 0 for before, after in pairwise(many))
    for top_n in (1, 3, 10, 12, 13, 30, 75):
        assert found(engine, top_n) == many[:top_n]


@pytest.mark.model
def test_pages_are_parts_of_one_ranking(engine: Engine) -> None:
    many = found(engine, 150)
    for offset, top_n in ((0, 10), (10, 10), (5, 7), (40, 20), (140, 10), (60, 90)):
        page = engine.search("salt tide at the shore", top_n=top_n, offset=offset)
        assert [(result.id, result.score) for result in page.results] == many[offset : offset + top_n]
        assert all(result.evidence for result in page.results)
    assert engine.search("salt tide at the shore", top_n=10, offset=990).results == ()
    for wrong in (-1, 991, "5"):
        with pytest.raises(ConfigError, match="offset"):
            engine.search("salt", top_n=10, offset=wrong)
    few = engine.search("salt tide at the shore", top_n=5, offset=5, one_per_document=True).results
    ten = engine.search("salt tide at the shore", top_n=10, one_per_document=True).results
    assert [one.id for one in few] == [one.id for one in ten[5:]]
    both = MultiIndex([engine])
    assert [one.id for one in both.search("salt tide", top_n=5, offset=5).results] == [
        one.id for one in both.search("salt tide", top_n=10).results[5:]
    ]


def test_so_is_how_sure_it_is(engine: Engine) -> None:
    one, many = (engine.search("salt tide at the shore", top_n=top_n) for top_n in (10, 150))
    assert (one.confidence, one.no_good_match) == (many.confidence, many.no_good_match)


def test_what_comes_further_down_is_told_like_the_rest(engine: Engine) -> None:
    answer = engine.search("salt tide at the shore", top_n=150)
    assert all(result.evidence and result.text for result in answer.results)
    assert all(result.fusion_score is not None for result in answer.results)


@pytest.mark.slow
def test_a_budget_shows_the_same_results(engine: Engine) -> None:
    plain = run_search(engine, SearchParams("salt tide at the shore")).to_json()["results"]
    packed = run_search(engine, SearchParams("salt tide at the shore", budget=900)).to_json()
    assert [r["id"] for r in packed["results"]] == [r["id"] for r in plain[: len(packed["results"])]]
    assert [c["id"] for c in packed["pack"]["citations"]] == [
        r["id"] for r in plain[: len(packed["pack"]["citations"])]
    ]
    assert len(packed["pack"]["citations"]) > 1
    last = run_search(engine, SearchParams("salt tide at the shore", top_n=100)).to_json()["results"][-1]["document"]
    shown = {cited["document"] for cited in packed["pack"]["citations"]}
    missing = next(document for document in (f"{page:02}.md" for page in range(40)) if document not in shown)
    assert last
    told = run_search(engine, SearchParams("salt tide at the shore", budget=900, why_not=missing)).to_json()["why_not"]
    assert told["place"] != "result"


def test_a_trial_has_each_signal_as_deep_as_was_asked(engine: Engine) -> None:
    trial = engine.trial(Request("salt tide at the shore", top_n=100))
    assert all(len(documents) == 40 for name, documents in trial.signals.items() if name != "exact")
    assert len(trial.fused) > 30
