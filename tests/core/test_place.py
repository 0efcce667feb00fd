"""A place is written down in one way, and read back from it; parts that are read together have one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.place import MAX_NAME_LENGTH, NOWHERE, Place, joined, located

spans = st.tuples(st.integers(1, 999), st.integers(0, 50)).map(lambda pair: (pair[0], pair[0] + pair[1]))
lines = st.none() | spans
spots = st.one_of(
    st.just(NOWHERE),
    spans.map(lambda span: Place(pages=span)),
    spans.map(lambda span: Place(slides=span)),
    st.text(max_size=200).map(lambda name: Place(sheet=name)),
    st.text(max_size=200).map(lambda name: Place(anchor=name)),
)
places = st.tuples(lines, spots).map(lambda pair: Place(pair[0]).within(pair[1]))


@pytest.mark.parametrize(
    ("place", "where", "extent"),
    [
        (NOWHERE, "", ""),
        (Place((12, 18)), ":12", ":12-18"),
        (Place((12, 12)), ":12", ":12-12"),
        (Place(pages=(3, 3)), "p. 3", "p. 3"),
        (Place((12, 18), pages=(3, 4)), "p. 3-4", "p. 3-4"),
        (Place(slides=(4, 4)), "slide 4", "slide 4"),
        (Place(sheet="Budget (2026)"), "sheet Budget (2026)", "sheet Budget (2026)"),
        (Place((1, 2), anchor="install"), "#install", "#install"),
    ],
)
def test_where_it_is(place: Place, where: str, extent: str) -> None:
    assert (place.where, place.extent) == (where, extent)
    assert place.to_json() == {"where": where, "lines": list(place.lines) if place.lines else None}


@given(places)
def test_what_is_written_is_read_back(place: Place) -> None:
    assert Place(place.lines).within(Place.read(place.spot)) == place
    assert Place.read(place.extent) == (Place.read(place.spot) if place.spot else place)
    assert place.where.isprintable()


@pytest.mark.parametrize("text", ["p. x", "p.3", "page 3", ":", ":3-", "sheet ", "#", "12", "p. 3\n", " p. 3", ":9-3"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(ValueError, match="place"):
        Place.read(text)


@pytest.mark.parametrize("wrong", [{"lines": (0, 3)}, {"pages": (4, 3)}, {"slides": (1, 1), "sheet": "a"}])
def test_what_no_parser_may_say(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="place"):
        Place(**wrong)


def test_a_name_is_one_line_that_can_be_seen() -> None:
    assert Place(sheet="a\n\n### [2]\u202e\x1b b\u2028c ").where == "sheet a ### [2] b c"
    assert Place(anchor="\n\u200b") == NOWHERE
    assert len(Place(sheet="x" * 500).sheet) == MAX_NAME_LENGTH


def test_parts_of_one_kind_go_from_the_first_to_the_last() -> None:
    assert joined([Place((5, 9), pages=(3, 3)), Place((1, 2)), Place(pages=(2, 4))]) == Place((1, 9), pages=(2, 4))
    assert joined([Place(slides=(4, 4)), Place(slides=(5, 5))]).where == "slide 4-5"
    assert joined([Place((3, 4)), Place((1, 1))]) == Place((1, 4))
    assert joined([NOWHERE, NOWHERE]) == joined([]) == NOWHERE


def test_of_names_the_first_counts() -> None:
    assert joined([NOWHERE, Place(sheet="Costs"), Place(sheet="Budget")]).where == "sheet Costs"
    assert joined([Place(anchor="a"), Place(anchor="b")]).where == "#a"
    assert joined([Place(sheet="Costs"), Place(pages=(1, 1))]).where == "sheet Costs"


@pytest.mark.slow
@given(st.lists(places, min_size=1, max_size=5))
def test_joining_loses_no_line_and_invents_none(parts: list[Place]) -> None:
    whole = joined(parts)
    known = [part.lines for part in parts if part.lines]
    assert whole.lines == ((min(first for first, _ in known), max(last for _, last in known)) if known else None)
    assert bool(whole.spot) == any(part.spot for part in parts)
    assert joined([whole]) == whole


def test_what_stands_within_something() -> None:
    assert Place((1, 2)).within(Place((7, 8), pages=(3, 3))) == Place((1, 2), pages=(3, 3))
    assert Place(pages=(4, 4)).within(Place(pages=(3, 3))) == Place(pages=(4, 4))
    assert Place((1, 2)).within(Place((7, 8))) == Place((1, 2))


def test_the_place_behind_a_name() -> None:
    shown = [located("a.x", where) for where in (":12", "#install", "p. 3", "sheet B", "")]
    assert shown == ["a.x:12", "a.x#install", "a.x p. 3", "a.x sheet B", "a.x"]
