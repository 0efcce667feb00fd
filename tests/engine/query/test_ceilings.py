"""A vote with a ceiling counts the less the nearer a hit is to it, and never passes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Ceiling, Evidence, Hit, Plan, Ranking
from watersmeet.engine.query.ceilings import apply_ceilings, capped_only, enforce_ceilings
from watersmeet.fusion.convex import Convex
from watersmeet.fusion.rrf import Rrf

PLAN = Plan("q")
WORDS = Ranking.of("words", [Hit("a", 4.0), Hit("b", 3.0), Hit("c", 2.0), Hit("d", 1.0)])


def voted(*ceilings: tuple[str, str]) -> Ranking:
    hits = tuple(Hit(chunk, 1.0) for chunk, _ in ceilings)
    return Ranking("links", hits, ceilings={chunk: Ceiling(other, 0.9) for chunk, other in ceilings})


def test_the_formula() -> None:
    links = voted(("new", "a"), ("d", "a"))
    fused = apply_ceilings(Rrf(k=1).fuse([WORDS, links], PLAN), [WORDS, links])
    scores = {hit.chunk: hit.score for hit in fused.hits}
    most = 0.9 * (1 / 2)
    assert scores["a"] == 1 / 2
    assert scores["new"] == pytest.approx(most)  # its vote, 1/2, is more than the ceiling
    assert scores["d"] == pytest.approx(1 / 5 + (1 / 3) * (1 - (1 / 5) / most))
    (vote,) = [e for hit in fused.hits if hit.chunk == "d" for e in hit.evidence if e.by == "links"]
    assert vote.detail["unclamped"] == pytest.approx(1 / 3)
    assert vote.detail["contribution"] == pytest.approx(scores["d"] - 1 / 5)


def test_what_a_link_has_lifted_lifts_nobody() -> None:
    """The ceiling is a share of what the other has by itself: one hop stays one hop."""
    links = voted(("d", "a"), ("new", "d"))
    fused = apply_ceilings(Rrf(k=1).fuse([WORDS, links], PLAN), [WORDS, links])
    scores = {hit.chunk: hit.score for hit in fused.hits}
    assert scores["d"] > 1 / 5
    assert scores["new"] == pytest.approx(0.9 / 5)


def test_without_limits_nothing_changes() -> None:
    fused = Rrf().fuse([WORDS], PLAN)
    assert apply_ceilings(fused, [WORDS]) is fused


def test_a_fusion_that_tells_no_contributions_is_left_as_it_is() -> None:
    fused = Ranking.of(
        "own", [Hit("a", 2.0, (Evidence("words", 1, 4.0),)), Hit("new", 1.0, (Evidence("links", 1, 1.0),))]
    )
    assert apply_ceilings(fused, [WORDS, voted(("new", "a"))]).hits == fused.hits


ranked = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1).map(
    lambda names: tuple(Hit(name, 9.0 - n) for n, name in enumerate(names))
)


@pytest.mark.slow
@given(ranked, ranked, st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdef"), min_size=1))
def test_no_limit_is_passed_and_contributions_add_up(words: object, meaning: object, ceilings: dict[str, str]) -> None:
    links = voted(*((chunk, other) for chunk, other in ceilings.items() if chunk != other))
    rankings = [Ranking("words", words), Ranking("meaning", meaning), links]  # type: ignore[arg-type] # drawn
    for fusion in (Rrf(), Convex(), Convex(scale="spread")):
        before = {hit.chunk: hit.score for hit in fusion.fuse(rankings, PLAN).hits}
        fused = apply_ceilings(fusion.fuse(rankings, PLAN), rankings)
        after = {hit.chunk: hit.score for hit in fused.hits}
        own = {}
        for hit in fused.explained().hits:
            parts = {e.by: e.detail["contribution"] for e in hit.evidence}
            assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-12)
            own[hit.chunk] = sum(part for by, part in parts.items() if by != "links")
        assert before.keys() == after.keys()
        for chunk, ceiling in links.ceilings.items():
            most = ceiling.share * own.get(ceiling.other, 0.0)
            assert own[chunk] - 1e-12 <= after[chunk] <= max(own[chunk], most) + 1e-12


def test_a_stage_cannot_lift_a_neighbour_above_what_brought_it() -> None:
    links = Ranking(
        "neighbours", (Hit("b", 0.9), Hit("c", 0.5)), ceilings={"b": Ceiling("a", 0.95), "c": Ceiling("a", 0.95)}
    )
    words = Ranking("lexical", (Hit("a", 1.0), Hit("c", 0.4)))
    only = capped_only([links, words])
    assert only == {"b": Ceiling("a", 0.95)}
    lifted = Ranking.of("recency", [Hit("a", 1.0), Hit("b", 1.08), Hit("c", 1.2)])
    held = enforce_ceilings(lifted, only)
    assert [(hit.chunk, round(hit.score, 6)) for hit in held.hits] == [("c", 1.2), ("a", 1.0), ("b", 0.95)]
    assert held.hits[2].evidence[-1].by == "ceiling"
    assert enforce_ceilings(held, only) is held
    assert capped_only([words]) == {}
