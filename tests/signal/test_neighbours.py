from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition, Hit, Plan, Ranking, Request
from watersmeet.engine.query.ceilings import apply_ceilings
from watersmeet.engine.settings.settings import load
from watersmeet.fusion.convex import Convex
from watersmeet.fusion.rrf import Rrf
from watersmeet.signal.neighbours import Neighbours

CHAIN = {
    "a.md": "# A\n\nNothing of note. [[b]]\n",
    "b.md": "# B\n\nThe estuary. [[a]] and [[c]]\n",
    "c.md": "# C\n\nNothing either. [[b]] and [[d]]\n",
    "d.md": "# D\n\nNor here. [[c]]\n",
}


@pytest.mark.parametrize("fusion", ["rrf", "convex"])
def test_one_hop_in_both_directions(voting, write, fusion: str) -> None:
    engine = voting("lexical", "neighbours", fusion=fusion)
    engine.sync([write(CHAIN)])
    results = engine.search(Request("estuary", mode="hybrid")).results
    assert results[0].document == "b.md"
    assert {result.document for result in results[1:]} == {"a.md", "c.md"}
    assert results[1].score < results[0].score == 1.0
    for result in results[1:]:
        (evidence,) = result.evidence
        assert evidence.by == "neighbours"
        there, back = f"b.md -> {result.document} (wiki)", f"{result.document} -> b.md (wiki)"
        assert evidence.detail["path"] in (there, back)


def test_links_in_one_direction_are_followed_both_ways(voting, write) -> None:
    engine = voting("lexical", "neighbours")
    pages = {"from.md": "# From\n\n[[hit]]\n", "hit.md": "# Hit\n\nestuary [[to]]\n", "to.md": "# To\n\nx\n"}
    engine.sync([write(pages)])
    found = {r.document: r for r in engine.search(Request("estuary", mode="hybrid")).results}
    assert set(found) == {"from.md", "hit.md", "to.md"}
    assert found["from.md"].evidence[0].detail["path"] == "from.md -> hit.md (wiki)"


def test_filters_hold_for_neighbours(voting, write) -> None:
    engine = voting("lexical", "neighbours")
    engine.sync([write(CHAIN)])
    only = Request("estuary", mode="hybrid", condition=Condition({"path": ("[ab].md",)}))
    assert [result.document for result in engine.search(only).results] == ["b.md", "a.md"]


def test_without_links_or_hits_nothing_comes(voting, write) -> None:
    engine = voting("lexical", "neighbours")
    engine.sync([write({"a.md": "# A\n\nestuary\n", "b.md": "# B\n\nother\n"})])
    assert [r.document for r in engine.search(Request("estuary", mode="hybrid")).results] == ["a.md"]
    assert not engine.search(Request("nowhere", mode="hybrid")).results


def test_a_hub_brings_in_nobody(linked) -> None:
    links = linked([("hub", str(number)) for number in range(101)], frozenset({"list"}))
    found = Ranking.of("lexical", [Hit("hub*", 2.0), Hit("list*", 1.0)])
    assert not Neighbours(links, links).derive(Plan("q"), [found]).hits
    assert len(Neighbours(links, links, hub=101).derive(Plan("q"), [found]).hits) == 100  # the pool


def made(links) -> Neighbours:
    return Neighbours(links, links)


documents = st.sampled_from("abcdefgh")
graphs = st.lists(st.tuples(documents, documents).filter(lambda pair: pair[0] != pair[1]), max_size=16)
found = st.lists(documents, unique=True, max_size=5)


@pytest.mark.slow
@given(pairs=graphs, first=found, second=found, weight=st.sampled_from([0.1, 1.0, 3.0]))
def test_a_neighbour_stays_below_what_it_came_from(
    linked, pairs: list[tuple[str, str]], first: list[str], second: list[str], weight: float
) -> None:
    rankings = [
        Ranking(by, tuple(Hit(f"{d}*", 9.0 - n) for n, d in enumerate(names)))
        for by, names in (("lexical", first), ("dense", second))
    ]
    plan = Plan("q", weights={"neighbours": weight})
    derived = made(linked(pairs)).derive(plan, rankings)
    candidates = {*first, *second}
    near = {b for a, b in pairs if a in candidates} | {a for a, b in pairs if b in candidates}
    voted = {hit.chunk[0] for hit in derived.hits}
    assert near - candidates <= voted <= near
    assert derived == made(linked(pairs)).derive(plan, rankings[::-1])
    for fusion in (Rrf(), Convex()):
        plain = {hit.chunk: hit.score for hit in fusion.fuse(rankings, plan).hits}
        fused = apply_ceilings(fusion.fuse([*rankings, derived], plan), [*rankings, derived])
        scores = {hit.chunk: hit.score for hit in fused.hits}
        for chunk, (other, share) in derived.ceilings.items():
            assert f"{chunk[0]}*" == chunk != other
            assert {(chunk[0], other[0]), (other[0], chunk[0])} & {*pairs}
            if chunk not in plain:
                assert scores[chunk] <= share * scores[other] + 1e-12
        for hit in fused.explained().hits:
            assert sum(e.detail["contribution"] for e in hit.evidence) == pytest.approx(hit.score, abs=1e-12)
    before, after = Rrf().fuse(rankings, plan), apply_ceilings(Rrf().fuse([*rankings, derived], plan), [derived])
    order = [hit.chunk for hit in after.hits]
    for better, worse in combinations([hit.chunk for hit in before.hits], 2):
        if linked_pair(better, worse, pairs) and derived.ceilings.get(worse, ("",))[0] == better:
            assert order.index(better) < order.index(worse)


def linked_pair(one: str, other: str, pairs: list[tuple[str, str]]) -> bool:
    return bool({(one[0], other[0]), (other[0], one[0])} & {*pairs})


def scores_by_rank(engine, top_n: int) -> list[tuple[str, float, set[str]]]:
    results = engine.search(Request("estuary", mode="hybrid", top_n=top_n)).results
    return [(r.document, r.score, {e.by for e in r.evidence}) for r in results]


def test_every_hit_brings_in_its_neighbours_and_votes_once(voting, write) -> None:
    """It was the first ten only, each with a second vote: 0.837 at the tenth hit, 0.430 at the eleventh."""
    engine = voting("lexical", "neighbours")
    hits = {f"hit{n:02}.md": f"# Hit\n\nThe estuary{' and more' * n}. [[near{n:02}]]\n" for n in range(15)}
    engine.sync([write(hits | {f"near{n:02}.md": "# Near\n\nNothing.\n" for n in range(15)})])
    found = scores_by_rank(engine, 30)
    assert {document for document, _, _ in found} == {*hits, *(f"near{n:02}.md" for n in range(15))}
    assert [document for document, _, _ in found if document in hits] == sorted(hits)
    assert all(by == ({"lexical"} if document in hits else {"neighbours"}) for document, _, by in found)
    assert min(after / before for (_, before, _), (_, after, _) in pairwise(found)) > 0.95
    scores = {document: score for document, score, _ in found}
    assert all(scores[f"near{n:02}.md"] < scores[f"hit{n:02}.md"] for n in range(15))


def test_a_page_without_links_does_not_stand_before_the_one_that_holds_the_word(linked) -> None:
    links = linked([])
    words, meaning = Ranking.of("lexical", [Hit("word*", 1.0)]), Ranking("dense", (Hit("odd*", 0.9), Hit("word*", 0.8)))
    assert not made(links).derive(Plan("q"), [words, meaning]).hits


@pytest.mark.model
@pytest.mark.parametrize("many", [12, 30])
def test_where_meaning_ranks_everything_a_link_still_lifts(tmp_path, write, many: int) -> None:
    """Every note, or every note of the pool, is a candidate: the neighbours come second all the same."""
    subjects = "bread salt iron glass paper ink wool silk clay tin coal rope soap wax honey milk".split()
    vault = {f"{n:02}.md": f"# Note {n}\n\nA page on {subjects[n % 16]} and {subjects[n // 2]}.\n" for n in range(many)}
    vault |= {"hit.md": "# Hit\n\nThe heron at the estuary. [[zz]]\n", "zz.md": "# Accounts\n\nTaxes of 1987.\n"}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={})) as engine:
        engine.sync([write(vault)])
        results = engine.search(Request("heron at the estuary", recipe="notes")).results
    assert [result.document for result in results[:2]] == ["hit.md", "zz.md"]
    assert "lexical" not in {e.by for e in results[1].evidence}
    (vote,) = [e for e in results[1].evidence if e.by == "neighbours"]
    assert results[1].score < 0.95 * results[0].score
    if "unclamped" in vote.detail:  # dense had it too: the link counts for less
        assert 0 < vote.detail["contribution"] < vote.detail["unclamped"]


def test_a_link_counts_the_less_the_nearer_a_candidate_already_is(linked) -> None:
    links = linked([("a", "b"), ("a", "y")])
    names = "abcdefghijklmnopqrstuvwxy"
    words = Ranking("lexical", tuple(Hit(f"{name}*", 99.0 - n) for n, name in enumerate(names)))
    derived = made(links).derive(Plan("q"), [words])
    assert [hit.chunk for hit in derived.hits] == ["b*", "y*"]
    fused = apply_ceilings(Rrf().fuse([words, derived], Plan("q")), [words, derived])
    gains = {h.chunk: e.detail["contribution"] for h in fused.hits for e in h.evidence if e.by == "neighbours"}
    assert gains["b*"] == 0 < gains["y*"]
    assert [hit.chunk[0] for hit in fused.hits][:2] == ["a", "b"]
    assert [hit.chunk[0] for hit in fused.hits].index("y") < 8


@pytest.mark.parametrize("below", [0.0, 1.0, -1.0])
def test_a_neighbour_cannot_be_as_good_as_what_it_came_from(linked, below: float) -> None:
    with pytest.raises(ConfigError, match=r"signal\.neighbours\.below cannot be"):
        Neighbours(linked([]), linked([]), below=below)
