from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Condition, Hit, Plan, Ranking, Request
from watersmeet.signal.graph import Graph


def made(links) -> Graph:
    return Graph(links, links)


def derived(links, *found: str, **options: float) -> dict[str, float]:
    ranking = Ranking("lexical", tuple(Hit(f"{d}*", 9.0 - n) for n, d in enumerate(found)))
    return {hit.chunk[:-1]: hit.score for hit in Graph(links, links, **options).derive(Plan("q"), [ranking]).hits}


def test_interest_thins_out_with_every_link(linked) -> None:
    links = linked([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    scores = derived(links, "a")
    assert list(scores) == ["b", "c"]
    assert scores["c"] < scores["b"] / 2
    assert list(derived(links, "a", hops=1)) == ["b"]
    assert list(derived(links, "a", hops=4)) == ["b", "c", "d", "e"]


def test_what_two_hits_link_to_is_nearer_than_what_one_does(linked) -> None:
    links = linked([("a", "both"), ("b", "both"), ("a", "only"), ("b", "other")])
    scores = derived(links, "a", "b")
    assert max(scores, key=scores.__getitem__) == "both"


def test_a_hit_is_not_its_own_echo(linked) -> None:
    assert list(derived(linked([("a", "b"), ("b", "a")]), "a")) == ["b"]


def test_hits_that_are_linked_lift_each_other(linked) -> None:
    assert set(derived(linked([("a", "b")]), "a", "b", "c")) == {"a", "b"}


def test_many_links_count_against_a_document(linked) -> None:
    pairs = [("a", "popular"), ("a", "plain"), *(("popular", f"n{number}") for number in range(30))]
    scores = derived(linked(pairs), "a")
    assert scores["popular"] < scores["plain"]


def test_the_way_is_told(linked) -> None:
    ranking = Ranking("lexical", (Hit("a*", 1.0),))
    out = made(linked([("a", "b"), ("c", "b")])).derive(Plan("q"), [ranking])
    assert out.notes["b*"] == {"path": "a -> b (wiki)"}
    assert out.notes["c*"] == {"path": "a -> b (wiki), c -> b (wiki)"}


def test_what_has_too_many_links_is_passed_by(linked) -> None:
    links = linked([("list", "x"), ("list", "a"), ("a", "b")], frozenset({"list"}))
    assert derived(links, "list") == {}
    assert list(derived(links, "a")) == ["b"]


documents = st.sampled_from("abcdefgh")
graphs = st.lists(st.tuples(documents, documents).filter(lambda pair: pair[0] != pair[1]), max_size=20)


@pytest.mark.slow
@given(pairs=graphs, found=st.lists(documents, unique=True, max_size=6))
def test_the_promises(linked, pairs: list[tuple[str, str]], found: list[str]) -> None:
    ranking = Ranking("lexical", tuple(Hit(f"{d}*", 9.0 - n) for n, d in enumerate(found)))
    out = made(linked(pairs)).derive(Plan("q", pool=5), [ranking])
    assert out == made(linked(pairs[::-1])).derive(Plan("q", pool=5), [ranking])
    assert len(out.hits) <= 5
    assert all(0 < hit.score <= 0.5 for hit in out.hits)
    reached = {d for pair in pairs for d in pair}
    assert {hit.chunk[0] for hit in out.hits} <= reached
    assert bool(found) or not out.hits
    assert set(out.notes) >= {hit.chunk for hit in out.hits}


@pytest.fixture
def hub(write) -> Path:
    """A page that links to a thousand others, of which a few link among themselves."""
    pages = {f"n/{n}.md": f"# Page {n}\n\nAbout w{n}x. {f'[[n/{n + 1}]]' if n < 5 else ''}\n" for n in range(1000)}
    pages["hub.md"] = "# Everything\n\nThe estuary and all else.\n\n" + "\n".join(f"- [[n/{n}]]" for n in range(1000))
    return write(pages)


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["graph", "neighbours"])
def test_a_page_that_links_to_everything_floods_nothing(voting, hub: Path, signal: str) -> None:
    plain = voting("lexical", fusion="convex")
    plain.sync([hub])
    engine = voting("lexical", signal, fusion="convex")
    near = {f"n/{n}.md" for n in range(6)}
    for query, gained in (("estuary", set()), ("w700x", set()), ("w2x", near), ("page", set()), ("w9x page", set())):
        before = {r.document for r in plain.search(Request(query, mode="hybrid", top_n=50)).results}
        after = {r.document for r in engine.search(Request(query, mode="hybrid", top_n=50)).results}
        assert before <= after
        assert after - before <= gained, query
        assert bool(after - before) == bool(gained), query


def test_links_bring_in_what_no_word_would(voting, write) -> None:
    engine = voting("lexical", "graph", fusion="convex", weights={"graph": 0.2})
    pages = {
        "tides.md": "# Tides\n\nThe estuary fills twice a day. [[moon]]\n",
        "moon.md": "# Moon\n\nIt pulls at the water. [[orbit#Path]]\n",
        "orbit.md": "# Orbit\n\nAn ellipse.\n",
        "other.md": "# Other\n\nNothing of it.\n",
    }
    engine.sync([write(pages)])
    results = engine.search(Request("estuary", mode="hybrid")).results
    assert [result.document for result in results] == ["tides.md", "moon.md", "orbit.md"]
    assert results[1].evidence[0].detail["path"] == "tides.md -> moon.md (wiki)"
    only = Request("estuary", mode="hybrid", condition=Condition({"path": ("[to]*.md",)}))
    assert [result.document for result in engine.search(only).results] == ["tides.md", "orbit.md"]
