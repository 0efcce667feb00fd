"""Results with the whole of their section or page: without a gap, each passage once, and the hit always among it."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core.model import Passage, Result
from watersmeet.core.place import Place
from watersmeet.present.expand import Page, expand

LONG = "word " * 100


def passage(number: int, headings: tuple[str, ...], text: str = "") -> Passage:
    lines = (number * 10 + 1, number * 10 + 5)
    return Passage(
        f"c{number}", "d.md", "document", "D", "d.md", None, headings, Place(lines), text or f"text {number}"
    )


def result(of: Passage) -> Result:
    return Result(of.id, of.document, of.kind, of.title, of.headings, of.path, of.place, of.text, 1.0, 1.0, None, ())


PAGES = [
    passage(0, ()),
    passage(1, ("D", "Example")),
    passage(2, ("D", "Example", "Deep")),
    passage(3, ("D", "Middle")),
    passage(4, ("D", "Example")),
]


def show(hits: list[int], how: str, pages: list[Passage] = PAGES, most: int | None = None) -> list[Result]:
    return list(expand([result(pages[n]) for n in hits], how, lambda _: Page(pages, None), most))


def test_a_section_is_the_run_of_its_passages() -> None:
    (one,) = show([1], "section")
    assert one.lines == (11, 25)
    assert "text 1" in one.text
    assert "text 2" in one.text
    assert "text 3" not in one.text  # another section of the same name stands behind it
    (last,) = show([4], "section")
    assert (last.text, last.lines) == ("text 4", (41, 45))


def test_what_stands_before_the_first_heading_is_a_section_of_its_own() -> None:
    first, other = show([0, 3], "section")
    assert (first.text, other.text) == ("text 0", "text 3")


def test_a_passage_is_shown_once() -> None:
    deep, parent = show([2, 1], "section")
    assert deep.text == "text 2"
    assert parent.text == "text 1"
    assert len(show([1, 2], "section")) == 1
    assert len(show([4, 0, 3], "page")) == 1


def test_with_few_tokens_the_hit_and_what_is_nearest_to_it() -> None:
    pages = [passage(n, ("D", f"H{n}"), f"{LONG}mark{n}") for n in range(50)]
    (one,) = show([30], "page", pages, 400)
    assert "mark30" in one.text
    assert "mark0 " not in one.text
    assert one.lines[0] <= 300 < one.lines[1] < 350
    (whole,) = show([30], "page", pages)
    assert whole.lines == (1, 495)


def test_the_pages_of_a_section_are_those_of_its_passages() -> None:
    pages = [replace(one, place=replace(one.place, pages=(n + 3, n + 3))) for n, one in enumerate(PAGES)]
    (one,) = show([1], "section", pages)
    assert (one.where, one.lines) == ("p. 4-5", (11, 25))


def test_levels_are_those_of_the_document() -> None:
    made = expand([result(PAGES[1])], "section", lambda _: Page(PAGES, {"D\nExample\nDeep": 5}))
    assert "##### Deep" in made[0].text
