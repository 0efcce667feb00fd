"""What a search promises, whatever is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, Degraded, NoIndex, UnknownComponent
from watersmeet.core.model import Condition, Hit, Plan, Ranking, Request
from watersmeet.engine.components import build, names
from watersmeet.engine.query.pipeline import Pipeline
from watersmeet.engine.settings.settings import load, recipes

IDENTIFIERS = ["D40", "30 CFR 75.1725", "PII-2024-0042", "--no-vectors", "get_user_by_id", "E0308", "v1.2.3", "Aboleth"]


@pytest.fixture
def regions(engine: Engine, write) -> Engine:
    """Many pages that are alike, and each identifier in one of them only."""
    files = {
        f"region/d{i}.md": f"# Region D{i}\n\nA cold room with two doors, a table and a regulation. Tell no one."
        for i in range(30, 60)
    }
    for i, identifier in enumerate(IDENTIFIERS[1:]):
        files[f"other/{i}.md"] = f"# Page {i}\n\nHere one may use {identifier}, as was said about the doors."
        files[f"near/{i}.md"] = f"# Use page {i}\n\nTell me about the use of doors here. How do I use them here?"
    engine.sync([write(files)])
    return engine


@pytest.mark.slow
@pytest.mark.parametrize("identifier", IDENTIFIERS)
@pytest.mark.parametrize("sentence", ["{}", "tell me about {}", "how do I use {} here?"])
def test_an_identifier_finds_its_only_occurrence_first(regions: Engine, identifier: str, sentence: str) -> None:
    expected = f"region/d{identifier[1:]}.md" if identifier == "D40" else None
    result = regions.search(sentence.format(identifier)).results[0]
    assert identifier in result.text or result.document == expected
    only = regions.search(Request(sentence.format(identifier), mode="exact"))
    assert only.mode == "exact"
    assert only.results[0].id == result.id


def test_ordinary_words_gain_nothing_from_exact(regions: Engine) -> None:
    assert not regions.search(Request("tell me about the doors", mode="exact")).results
    assert not regions.search(Request("Doors and a table", mode="exact")).results


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    ["NOT found AND", "C++", '"', "*", "(", "foo:bar", "a OR b", "", " ", "\x00", "[[x", "😀", "%' --", "x" * 5000],
)
def test_a_query_is_data(regions: Engine, query: str) -> None:
    regions.search(query)
    regions.search(Request(query, mode="exact"))


def test_operators_are_words(engine: Engine, write) -> None:
    engine.sync([write({"a.md": "# A\n\nfound it\n", "b.md": "# B\n\nlost it\n", "c.md": "# C\n\nC++ templates\n"})])
    assert [r.document for r in engine.search("NOT found AND").results] == ["a.md"]
    assert engine.search("C++").results[0].document == "c.md"


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(
        st.sampled_from(["region", "door", "D40", "E0308", "use", "Aboleth", "page", "the", "zzz"]), max_size=6
    ),
    top_n=st.integers(1, 40),
    mode=st.sampled_from(["lexical", "exact"]),
)
def test_every_answer_keeps_its_promises(regions: Engine, words: list[str], top_n: int, mode: str) -> None:
    answer = regions.search(Request(" ".join(words), mode=mode, top_n=top_n))
    scores = [result.score for result in answer.results]
    assert len(scores) <= top_n
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert not scores or scores[0] == 1.0
    assert len({result.id for result in answer.results}) == len(scores)
    assert all(evidence.rank >= 1 for result in answer.results for evidence in result.evidence)


def ranking(by: str, ids: list[str]) -> Ranking:
    return Ranking.of(by, [Hit(x, float(len(ids) - i)) for i, x in enumerate(ids)])


ids = st.lists(st.text("abcdefgh", min_size=1, max_size=2), unique=True, max_size=12)


@pytest.mark.slow
@given(a=ids, b=ids, c=ids, top_n=st.integers(1, 15))
def test_fusion_and_stages_keep_the_promises(a: list[str], b: list[str], c: list[str], top_n: int) -> None:
    plan = Plan("q", top_n=top_n)
    for fusion in names("fusion"):
        lists = [ranking("lexical", a), ranking("exact", b), ranking("other", c)]
        fused = build("fusion", fusion, {}).fuse(lists, plan)
        assert {hit.chunk for hit in fused.hits} == {*a, *b, *c}
        assert fused == build("fusion", fusion, {}).fuse(lists[::-1], plan)
        out = build("stage", "top", {}).apply(build("stage", "unit", {}).apply(fused, plan), plan)
        assert len(out.hits) == min(top_n, len({*a, *b, *c}))
        assert not out.hits or out.hits[0].score == 1.0


def test_rrf_to_the_digit() -> None:
    fused = build("fusion", "rrf", {}).fuse([ranking("x", ["a", "b"]), ranking("y", ["a"])], Plan("q"))
    assert fused.hits[0].score == pytest.approx(2 / 61, abs=1e-12)
    assert fused.hits[1].score == pytest.approx(1 / 62, abs=1e-12)
    weighted = build("fusion", "rrf", {"weights": {"y": 0.0, "x": 2}}).fuse([ranking("x", ["a"])], Plan("q"))
    assert weighted.hits[0].score == pytest.approx(2 / 61)


@pytest.mark.slow
def test_a_failing_signal_is_named(regions: Engine) -> None:
    class Broken:
        def rank(self, plan: Plan) -> Ranking:
            raise OSError("the disk is on fire")

    class Slow:
        def rank(self, plan: Plan) -> Ranking:
            import time

            time.sleep(0.5)
            return Ranking("slow")

    with regions.snapshot() as snapshot:
        whole = regions.visible_index(snapshot, None).pipeline(regions.settings, ("lexical", "exact"))
        signals = [*whole.signals, ("broken", Broken()), ("slow", Slow())]
        path = Pipeline(whole.understand, signals, [], whole.fusion, whole.stages, 0.1, whole.threads)
        outcome = path.run(Plan("room D40"))
    assert outcome.ranking.hits
    assert {f.by: f.reason for f in outcome.failures}.keys() == {"broken", "slow"}
    assert "on fire" in next(f.reason for f in outcome.failures if f.by == "broken")
    assert "0.1 s" in next(f.reason for f in outcome.failures if f.by == "slow")


@pytest.mark.slow
def test_signals_run_at_the_same_time(regions: Engine) -> None:
    from time import perf_counter, sleep

    class Slow:
        def rank(self, plan: Plan) -> Ranking:
            sleep(0.2)
            return Ranking("slow")

    with regions.snapshot() as snapshot:
        whole = regions.visible_index(snapshot, None).pipeline(regions.settings, ("lexical",))
        path = Pipeline([], [(str(i), Slow()) for i in range(4)], [], whole.fusion, [], 5, whole.threads)
        start = perf_counter()
        path.run(Plan("x"))
    assert perf_counter() - start < 0.6


def test_strict_and_wrong_requests(regions: Engine, tmp_path: Path) -> None:
    assert regions.search(Request("D40", strict=True)).results
    with pytest.raises(ConfigError, match="no mode"):
        regions.search(Request("x", mode="lexcal"))
    with pytest.raises(ConfigError, match="top_n"):
        regions.search(Request("x", top_n=0))
    with pytest.raises(NoIndex), Engine(tmp_path / "none") as nothing:
        nothing.search("x")
    assert issubclass(Degraded, Exception)


def test_every_recipe_answers(regions: Engine) -> None:
    for recipe in recipes():
        answer = regions.search(Request("D40", recipe=recipe))
        assert answer.recipe == recipe
        assert answer.results


def test_explain_says_who_put_it_there(regions: Engine) -> None:
    from watersmeet.present.answer import explain_line

    result = regions.search("tell me about Region D40").results[0]
    assert explain_line(result) == "[lexical#1, exact#1] Region D40"
    total = sum(evidence.detail.get("contribution", 0.0) for evidence in result.evidence)
    assert total == pytest.approx(result.fusion_score, abs=1e-9)


def test_related_follows_links_both_ways(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    found = {r.document: r for r in engine.related("index.md").results}
    assert set(found) == {"guides/setup.md", "guides/keys.md"}
    assert [r.document for r in engine.related("guides/setup.md").results] == ["index.md"]
    assert found["guides/setup.md"].evidence[0].detail["paths"] == ["index.md -> guides/setup.md (wiki)"]


def test_aliases_and_dates(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    assert engine.search("Installation").results[0].document == "guides/setup.md"
    assert engine.get("guides/setup.md")["fields"]["created"] == "2026-01-05"


@pytest.mark.model
def test_a_reader_in_another_process_sees_what_was_committed(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    assert engine.search("rotate keys").results
    pid = os.fork()
    if pid == 0:
        with Engine(engine.folder) as other:
            (vault / "fresh.md").write_text("# Fresh\n\nhorsefeathers\n")
            other.sync([vault])
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert engine.search("horsefeathers").results[0].document == "fresh.md"


def test_a_tag_of_the_collection_holds_for_the_tags_above_it(engine: Engine, vault: Path) -> None:
    engine.sync([vault], meta={"tag": "Food/Bread", "sdk": "py"})
    for value, found in (("food", True), ("food/bread", True), ("foo", False), ("food/br", False)):
        assert bool(engine.search(Request("keys", condition=Condition({"tag": (value,)}))).results) is found
    assert engine.unknown_fields(Request("keys", condition=Condition({"sdk": ("rust",)}))) == [
        "no document has sdk=rust; there are: py"
    ]


def test_whom_a_signal_follows_must_be_a_signal(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    wrong = load(start=str(tmp_path), flags={"pipeline": {"follow": {"exact": "lexicla"}}}, environ={})
    with Engine(engine.folder, wrong) as other, pytest.raises(UnknownComponent, match="lexicla"):
        other.search(Request("keys", "lexical"))


def test_who_only_follows_is_not_said_to_come_closest(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    tables = {"pipeline": {"signals": ["lexical", "keyword"], "follow": {"keyword": "lexical"}, "pool": 1}}
    with Engine(engine.folder, load(start=str(tmp_path), flags=tables, environ={})) as other:
        found = other.why_not(Request("rotate keys, server", "hybrid", top_n=1), "guides/setup.md")
    assert (found.place, set(found.ranks)) == ("candidates", {"lexical"})
    assert "keyword" not in found.weights
