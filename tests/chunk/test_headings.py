from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.chunk.headings import Headings
from watersmeet.core.documents import Block, Chunk, Document, Section
from watersmeet.core.errors import ConfigError
from watersmeet.core.ids import chunk_id
from watersmeet.core.model import DocId
from watersmeet.core.place import Place

SENTENCE = "Seven wise foxes jump over the lazy brown dogs of the old mill. "


def words(length: int, word: str = "word") -> str:
    return (f"{word} " * (length // (len(word) + 1) + 1))[:length].strip().ljust(length, "x")


def document(*sections: tuple[int, str, str | list[str]], title: str = "Title") -> Document:
    """Sections as (level, heading, text); lines as they would be in the file."""
    line, path, built = 1, list[tuple[int, str]](), list[Section]()
    for level, heading, texts in sections:
        while path and path[-1][0] >= level:
            path.pop()
        path += [(level, heading)] if level else []
        at, blocks = line, list[Block]()
        line += 2 if level else 0
        for text in [texts] if isinstance(texts, str) else texts:
            if text:
                blocks.append(Block(text, Place((line, line + text.count("\n")))))
                line += text.count("\n") + 2
        built.append(Section(tuple(name for _, name in path), level, Place((at, at)), tuple(blocks)))
    return Document(DocId("dir/doc.md"), "document", title, "/doc.md", tuple(built))


def split(*sections: tuple[int, str, str | list[str]], **options: int) -> list[Chunk]:
    return list(Headings(**options).split(document(*sections)))


def shown(chunks: list[Chunk]) -> list[tuple[str, ...]]:
    return [chunk.headings for chunk in chunks]


# ---------------------------------------------------------------- sections


def test_a_section_is_a_chunk_with_its_path_and_lines():
    a, b, c = words(300, "a"), words(300, "b"), words(300, "c")
    chunks = split((0, "", a), (1, "A", b), (2, "B", [c, c]))
    assert shown(chunks) == [(), ("A",), ("A", "B")]
    assert [chunk.text for chunk in chunks] == [a, b, f"{c}\n\n{c}"]
    assert [chunk.place.lines for chunk in chunks] == [(1, 1), (3, 5), (7, 11)]


def test_full_sized_siblings_never_share_a_chunk():
    chunks = split(*((2, f"H{n}", words(200)) for n in range(10)))
    assert shown(chunks) == [(f"H{n}",) for n in range(10)]


def test_headings_without_text_are_only_in_the_path():
    text = words(300)
    chunks = split((1, "A", ""), (2, "B", ""), (3, "C", text), (3, "D", text))
    assert shown(chunks) == [("A", "B", "C"), ("A", "B", "D")]
    assert [chunk.text for chunk in chunks] == [text, text]


def test_a_small_section_carries_its_path():
    (chunk,) = split((1, "A", ""), (2, "B", ""), (3, "C", "short"))
    assert (chunk.headings, chunk.text, chunk.place.lines) == (("A", "B", "C"), "short", (5, 7))


def test_a_small_note_is_one_chunk():
    (chunk,) = split((1, "A", "a"), (2, "B", "b"), (3, "C", "c"))
    assert chunk.headings == ("A",)
    assert chunk.text == "a\n\n## B\n\nb\n\n### C\n\nc"
    (chunk,) = split((1, "A", "a"), (2, "B", "b"), (2, "C", ""), (3, "D", "d"))
    assert chunk.headings == ("A",)
    assert chunk.text == "a\n\n## B\n\nb\n\n## C\n\n### D\n\nd"
    assert chunk.place.lines == (1, 13)


def test_small_siblings_stand_apart():
    big = words(500)
    chunks = split((2, "A", big), (2, "S", "small"), (2, "T", "also"), (2, "B", big), (2, "U", "last"))
    assert [(c.headings, c.text) for c in chunks] == [
        (("A",), big),
        (("S",), "small"),
        (("T",), "also"),
        (("B",), big),
        (("U",), "last"),
    ]


def test_a_small_section_joins_its_parent():
    big = words(500)
    chunks = split((1, "P", big), (2, "S", "small"), (2, "A", big))
    assert [(c.headings, c.text) for c in chunks] == [
        (("P",), f"{big}\n\n## S\n\nsmall"),
        (("P", "A"), big),
    ]


def test_a_small_section_joins_the_end_of_a_long_parent():
    chunks = split((1, "P", [words(1500), words(400)]), (2, "S", "small"))
    assert shown(chunks) == [("P",), ("P",)]
    assert chunks[1].text.endswith("## S\n\nsmall")


def test_a_small_section_stands_alone_where_it_does_not_fit():
    assert shown(split((1, "A", words(1590)), (2, "S", "small"))) == [("A",), ("A", "S")]


def test_a_small_section_does_not_join_the_child_of_another():
    big = words(500)
    chunks = split((2, "A", big), (3, "A1", "small"), (2, "S", "small"))
    assert shown(chunks) == [("A",), ("S",)]


def test_a_comment_is_no_chunk_of_its_own():
    big = words(500)
    chunks = split((0, "", "<!-- overview -->"), (1, "P", ""), (2, "A", big), (2, "C", big))
    assert [(c.headings, c.text, c.place.lines) for c in chunks] == [
        (("P", "A"), f"<!-- overview -->\n\n{big}", (1, 7)),
        (("P", "C"), big, (9, 11)),
    ]


def test_a_heading_alone_can_be_found():
    (chunk,) = split((1, "Only this", ""))
    assert (chunk.headings, chunk.text) == (("Only this",), "Only this")
    (chunk,) = split((1, "A", words(500)), (2, "Nothing here", ""))
    assert chunk.text.endswith("## Nothing here")


def test_an_empty_document_is_its_title():
    (chunk,) = split()
    assert (chunk.text, chunk.headings, chunk.place.lines) == ("Title", (), None)
    assert chunk.id == chunk_id("dir/doc.md", (), 0)


# ---------------------------------------------------------------- long sections


def test_a_long_section_comes_apart_between_blocks():
    blocks = [words(600, f"b{n}") for n in range(5)]
    chunks = split((1, "A", blocks))
    assert [chunk.text for chunk in chunks] == [
        "\n\n".join(blocks[:2]),
        "\n\n".join(blocks[2:4]),
        blocks[4],
    ]
    assert shown(chunks) == [("A",)] * 3
    assert [chunk.place.lines for chunk in chunks] == [(1, 5), (7, 9), (11, 11)]


def test_no_paragraph_that_fits_is_cut():
    blocks = [words(n) for n in (1500, 90, 1600, 20, 1590, 800, 801)]
    chunks = split((1, "A", blocks))
    assert "\n\n".join(chunk.text for chunk in chunks).split("\n\n") == blocks


def test_prose_is_cut_after_a_sentence():
    chunks = split((1, "A", SENTENCE * 100))
    assert all(chunk.text.endswith("mill.") and chunk.text.startswith("Seven") for chunk in chunks)
    assert all(len(chunk.text) > 800 for chunk in chunks[:-1])


def test_code_is_cut_at_line_ends_and_keeps_its_indentation():
    code = "```py\n" + "\n".join(f"    call_{n}(first. Second. Third)" for n in range(200)) + "\n```"
    chunks = split((1, "A", code))
    assert "\n".join(chunk.text for chunk in chunks) == code
    assert chunks[0].place.lines == (1, 2 + chunks[0].text.count("\n") + 1)
    assert chunks[1].place.lines[0] == chunks[0].place.lines[1] + 1
    assert chunks[-1].place.lines[1] == 3 + code.count("\n")


def test_a_short_lead_stays_with_the_list_it_introduces():
    items = "\n".join(f"- item number {n} of the list" for n in range(100))
    chunks = split((1, "A", ["These are the items:", items]))
    assert chunks[0].text.startswith("These are the items:\n\n- item number 0")


def test_a_short_rest_is_evened_out():
    chunks = split((1, "A", [words(700), words(700), words(100), words(150)]))
    assert [len(chunk.text) for chunk in chunks] == [1402, 252]


@pytest.mark.parametrize("text", ["x" * 100_000, "x " * 50_000, "。" * 50_000, "漢" * 50_000, "\n".join("y" * 99_999)])
def test_the_cap_holds_whatever_the_text(text: str):
    chunks = split((1, "A", text))
    assert max(len(chunk.text) for chunk in chunks) <= 1600
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(text.split())


@pytest.mark.slow
def test_a_line_of_50_megabytes():
    start = time.process_time()
    chunks = split((1, "A", "[[x]] *y " * 5_600_000))
    assert time.process_time() - start < 6
    assert max(len(chunk.text) for chunk in chunks) <= 1600


def test_a_title_or_heading_longer_than_a_chunk():
    headings = Headings(max_chars=50, min_chars=20)
    assert len(headings.split(document(title="t" * 200))[0].text) == 50
    chunks = headings.split(document((1, "h" * 200, ""), (1, "i" * 200, "text"), (1, "j", "text")))
    assert max(len(chunk.text) for chunk in chunks) <= 50


@pytest.mark.parametrize("options", [{"max_chars": 0}, {"min_chars": -1}, {"max_chars": 100, "min_chars": 101}])
def test_impossible_settings_are_refused(options: dict[str, int]):
    with pytest.raises(ConfigError) as error:
        Headings(**options)
    assert error.value.hint


# ---------------------------------------------------------------- ids


def test_an_id_names_document_path_and_position():
    text = [words(1000), words(1000)]
    chunks = split((1, "A", text), (1, "A", text))
    assert [chunk.id for chunk in chunks] == [chunk_id("dir/doc.md", ("A",), n) for n in range(4)]
    assert re.fullmatch("[0-9a-f]{16}", chunks[0].id)
    moved = Headings().split(replace(document((1, "A", text)), id=DocId("other.md")))
    assert moved[0].id not in {chunk.id for chunk in chunks}


@pytest.mark.slow
def test_hundreds_of_small_sections_keep_their_ids():
    many = [(1, "Terms", "In a few words."), *((2, f"Term {n}", f"Meaning of number {n}.") for n in range(500))]
    before = split(*many)
    assert [chunk.headings for chunk in before[:2]] == [("Terms",), ("Terms", f"Term {501 - len(before)}")]
    for place in range(1, 500, 25):
        for text in ("small", words(400)):
            inserted = [*many[:place], (2, "Inserted", text), *many[place:]]
            assert {chunk.id for chunk in before} <= {chunk.id for chunk in split(*inserted)}


# ---------------------------------------------------------------- invariants


@dataclass(frozen=True)
class Limits:
    most: int
    least: int


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    most = draw(st.integers(20, 400))
    return Limits(most, draw(st.integers(0, most)))


texts = st.text(st.sampled_from("ab .\n!漢`|-#<>é"), min_size=1, max_size=300).filter(str.strip)
any_sections = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.sampled_from(["A", "B", "Same", "", "x" * 30]),
        st.lists(texts | st.just("<!-- note -->"), max_size=4),
    ),
    max_size=15,
)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(any_sections, st.lists(texts, max_size=2), limits())
def test_every_split_is_sound(sections: list[tuple[int, str, list[str]]], preamble: list[str], limit: Limits):
    whole = document(*([(0, "", preamble)] if preamble else []), *sections)
    chunks = Headings(max_chars=limit.most, min_chars=limit.least).split(whole)
    assert chunks
    assert all(0 < len(chunk.text) <= limit.most for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    places = [part.place for section in whole.sections for part in (section, *section.blocks)]
    last_line = max((place.lines[1] for place in places), default=1)
    spans = [chunk.place.lines for chunk in chunks if whole.sections]
    assert spans == sorted(spans)
    assert all(1 <= first <= last <= last_line for first, last in spans)
    headings = {section.headings for section in whole.sections} | {()}
    assert all(chunk.headings in headings for chunk in chunks)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(any_sections, limits())
def test_no_character_is_lost(sections: list[tuple[int, str, list[str]]], limit: Limits):
    chunks = Headings(max_chars=limit.most, min_chars=limit.least).split(document(*sections))
    written = [block.text for section in document(*sections).sections for block in section.blocks]
    kept = iter("".join(chunk.text for chunk in chunks))
    for character in "".join(written):
        assert character.isspace() or character in kept  # in order, with headings in between


sizes = st.integers(0, 100) | st.integers(200, 1500) | st.integers(1600, 4000)


@st.composite
def outlines(draw: st.DrawFn) -> list[tuple[int, str, list[str]]]:
    """Up to ten sections of any size."""
    level, sections = 1, list[tuple[int, str, list[str]]]()
    for n in range(draw(st.integers(1, 10))):
        level = draw(st.integers(1, min(level + 1, 4)))
        size = draw(sizes)
        sections.append((level, f"H{n}", [words(min(700, size - at), f"w{n}") for at in range(0, size, 700)]))
    return sections


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(outlines())
def test_a_chunk_holds_at_most_one_full_sized_section_and_is_named_by_it(
    sections: list[tuple[int, str, list[str]]],
):
    full = {f"w{n}" for n, (_, _, blocks) in enumerate(sections) if sum(map(len, blocks)) >= 200}
    for chunk in Headings().split(document(*sections)):
        held = full & set(re.findall(r"\bw\d\b", chunk.text))
        assert len(held) <= 1
        assert all(chunk.headings[-1] == f"H{word[1:]}" for word in held)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(outlines(), st.data())
def test_inserting_a_section_changes_no_other_id(sections: list[tuple[int, str, list[str]]], data: st.DataObject):
    place = data.draw(st.integers(0, len(sections)))
    deepest = 1
    if place:  # as the first below a heading without text it would speak for that heading: not here
        deepest = sections[place - 1][0] + bool(sections[place - 1][2])
    shallowest = sections[place][0] if place < len(sections) else 1
    level = data.draw(st.integers(shallowest, max(deepest, shallowest)))
    size = data.draw(sizes)
    new = (level, "New", [words(min(700, size - at)) for at in range(0, size, 700)])

    before = {chunk.id for chunk in Headings().split(document(*sections))}
    after = {chunk.id for chunk in Headings().split(document(*sections[:place], new, *sections[place:]))}

    assert before <= after


# ---------------------------------------------------------------- places


def paged(*sections: tuple[str, Place, list[tuple[str, Place]]], **options: int) -> list[str]:
    """Where the chunks are of sections that are said as (heading, place, blocks)."""
    made = tuple(
        Section((heading,) if heading else (), 1 if heading else 0, place, tuple(Block(*block) for block in blocks))
        for heading, place, blocks in sections
    )
    whole = Document(DocId("d.pdf"), "document", "D", "/d.pdf", made)
    return [chunk.place.where for chunk in Headings(**options).split(whole)]


def page(first: int, last: int = 0) -> Place:
    return Place(pages=(first, last or first))


def test_a_chunk_over_two_pages_names_both() -> None:
    text = [(words(300), page(3)), (words(300), page(4)), (words(300), page(5))]
    assert paged(("", Place(), text), max_chars=700) == ["p. 3-4", "p. 5"]


def test_a_heading_at_the_foot_of_a_page_counts_with_its_first_text() -> None:
    text = [(words(300), page(4)), (words(300), page(5))]
    assert paged(("A", page(3), text), max_chars=310) == ["p. 3-4", "p. 5"]


def test_blocks_are_where_their_section_is_unless_they_say_otherwise() -> None:
    text = [(words(300), Place((1, 2))), (words(300), Place(sheet="Costs"))]
    assert paged(("A", Place(sheet="Budget"), text), max_chars=310) == ["sheet Budget", "sheet Costs"]
    assert paged(("A", Place(anchor="install"), [])) == ["#install"]


def test_all_pieces_of_a_long_block_are_on_its_page_with_or_without_lines() -> None:
    long = "\n".join([SENTENCE] * 40)
    assert set(paged(("", Place(), [(long, page(7))]))) == {"p. 7"}
    block = Block(long, Place((11, 50), pages=(7, 8)))
    chunks = Headings().split(Document(DocId("d"), "document", "D", "d", (Section((), 0, blocks=(block,)),)))
    assert len(chunks) > 1
    assert {chunk.place.pages for chunk in chunks} == {(7, 8)}
    assert (chunks[0].place.lines[0], chunks[-1].place.lines[1]) == (11, 50)


def test_sections_that_share_a_chunk_are_on_all_their_slides() -> None:
    slides = [(f"{n}", Place(slides=(n, n)), [(f"point {n}", Place())]) for n in (4, 5)]
    first, second = slides
    below = Section(("4", "5"), 2, second[1], (Block(*second[2][0]),))
    above = Section(("4",), 1, first[1], (Block(*first[2][0]),))
    whole = Document(DocId("d"), "document", "D", "d", (above, below))
    assert [chunk.place.where for chunk in Headings().split(whole)] == ["slide 4-5"]


HEADER = "| port | service |\n|---|---|"


def test_each_part_of_a_long_table_has_its_header_rows():
    rows = [f"| {7000 + n} | the service number {n} |" for n in range(300)]
    chunks = split((1, "Ports", "\n".join([HEADER, *rows])))
    assert len(chunks) > 3
    assert all(chunk.text.startswith(f"{HEADER}\n| 7") and len(chunk.text) <= 1600 for chunk in chunks)
    assert [row for chunk in chunks for row in chunk.text.split("\n")[2:]] == rows


def test_a_header_that_leaves_no_room_is_not_repeated():
    wide = f"| {'x' * 1500} |\n|---|"
    chunks = split((1, "Ports", "\n".join([wide, *("| 1 |" for _ in range(600))])))
    assert [chunk.text.startswith("| x") for chunk in chunks] == [True, *[False] * (len(chunks) - 1)]


@pytest.mark.parametrize("overlap", [10, 50, 300])
def test_pieces_repeat_the_end_of_the_one_before(overlap):
    text = [f"Paragraph {n} says that the tide comes twice a day." for n in range(60)]
    chunks = Headings(max_chars=600, overlap=overlap).split(document((1, "A", text)))
    assert all(len(chunk.text) <= 600 for chunk in chunks)
    for before, after in pairwise(chunks):
        paragraphs = after.text.split("\n\n")
        starts = ["\n\n".join(paragraphs[:n]) for n in range(1, len(paragraphs))]
        repeated = [start for start in starts if before.text.endswith(start)]
        assert len(repeated) == 1
        assert overlap // 2 <= len(repeated[0]) <= overlap


def test_an_overlap_of_more_than_half_a_chunk_is_refused():
    with pytest.raises(ConfigError, match="overlap"):
        Headings(max_chars=600, overlap=301)
