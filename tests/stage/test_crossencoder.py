from __future__ import annotations

from watersmeet.core.model import Plan
from watersmeet.engine.components import find, options
from watersmeet.stage.crossencoder import Crossencoder


def test_a_reversing_reader_reverses_the_head_and_leaves_the_tail(shelf, ranked, reversing) -> None:
    for number in range(14):
        shelf.put(f"{number:02}", f"text {number}", title="T", headings=("T", "H"))
    ranking = ranked({f"{number:02}": 1 - number / 20 for number in range(14)})
    out = Crossencoder(shelf, reversing).apply(ranking, Plan("the query"))
    assert [hit.chunk for hit in out.hits[:10]] == [f"{number:02}" for number in reversed(range(10))]
    assert out.hits[10:] == ranking.hits[10:]
    assert [hit.score for hit in out.hits] == [hit.score for hit in ranking.hits]
    (evidence,) = out.hits[0].evidence
    assert (evidence.by, evidence.rank, evidence.score, evidence.detail) == ("crossencoder", 1, 9.0, {"before": 10})
    ((model, query, texts),) = reversing.asked
    assert (model, query) == ("cross-encoder/ms-marco-MiniLM-L-6-v2", "the query")
    assert texts[3] == "T > H\ntext 3"


def test_equal_scores_keep_their_order(shelf, ranked) -> None:
    class Indifferent:
        def score(self, model, query, texts):
            return [0.0] * len(texts)

    for name in "abc":
        shelf.put(name)
    ranking = ranked({"b": 3.0, "a": 2.0, "c": 1.0})
    out = Crossencoder(shelf, Indifferent()).apply(ranking, Plan("q"))
    assert [hit.chunk for hit in out.hits] == ["b", "a", "c"]


def test_its_settings_and_that_it_is_off() -> None:
    from watersmeet.engine.settings.settings import load

    known = options(find("stage", "crossencoder"))
    assert {name: field.default for name, field in known.items()} == {
        "model": "cross-encoder/ms-marco-MiniLM-L-6-v2",
        "top_n": 10,
    }
    assert "crossencoder" not in load(environ={}).section("pipeline").stages


def test_a_missing_model_is_named_and_survived(staged, vault) -> None:
    engine = staged("unit", "crossencoder", "top", stage={"crossencoder": {"model": "./no-such-folder"}})
    engine.sync([vault])
    answer = engine.search("rotate keys")
    assert answer.results[0].document == "guides/keys.md"
    (failure,) = answer.failures
    assert failure.by == "crossencoder"
    assert "no-such-folder" in failure.reason
    assert failure.hint
