from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Condition, Hit, Plan, Ranking, Request
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
    assert [hit.chunk for hit in Neighbours(links, links).derive(Plan("q"), [found]).hits] == ["hub*", "list*"]
    assert len(Neighbours(links, links, hub=101).derive(Plan("q"), [found]).hits) == 100  # the pool


def made(links) -> Neighbours:
    return Neighbours(links, links)


documents = st.sampled_from("abcdefgh")
graphs = st.lists(st.tuples(documents, documents).filter(lambda pair: pair[0] != pair[1]), max_size=16)
found = st.lists(documents, unique=True, max_size=5)


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
    hits = {d: n for n, d in enumerate(hit.chunk[0] for hit in derived.hits)}
    seeds = {*first, *second}
    near = {b for a, b in pairs if a in seeds} | {a for a, b in pairs if b in seeds}
    assert set(hits) == seeds | near
    assert derived == made(linked(pairs)).derive(plan, rankings[::-1])
    for fusion in (Rrf(), Convex()):
        order = [hit.chunk[0] for hit in fusion.fuse([*rankings, derived], plan).hits]
        for document in near - seeds:
            sources = {a for a, b in pairs if b == document} | {b for a, b in pairs if a == document}
            best = min((s for s in sources if s in seeds), key=hits.__getitem__)
            assert order.index(best) < order.index(document)
