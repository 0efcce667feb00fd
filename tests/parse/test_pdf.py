from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

import pytest

import pdf_files
from pdf_files import Line, pdf, scanned
from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.core.place import Place
from watersmeet.parse.pdf import Pdf
from watersmeet.testing.contracts.parser import ParserContract


def paragraph(word: str) -> list[Line]:
    """Lines of plain text, long enough to be a paragraph."""
    ends = ("turns the wheel", "carries the flour down the river", "stands beside the old wall of the town")
    return [
        (10, f"The {word} of the mill is as old as the one that {end}, and so is {n} of the {word}.")
        for n, end in enumerate(ends)
    ]


GAP: Line = (40, " ")
GUIDE = pdf(
    [
        [(24, "The mill"), *paragraph("door"), (16, "Stones"), *paragraph("granite")],
        [(16, "Grain"), *paragraph("wheat")],
    ],
    info={"Title": "A guide to the mill", "Author": "Ada", "CreationDate": "D:20240822125427+02'00'"},
)


def read(content: bytes, name: str = "dir/mill.pdf", max_pages: int = 2000) -> Document | Skipped:
    (document,) = Pdf(max_pages=max_pages).parse(Found(name, f"/root/{name}", "0"), content)
    return document


def document(content: bytes, name: str = "dir/mill.pdf", max_pages: int = 2000) -> Document:
    found = read(content, name, max_pages)
    assert isinstance(found, Document)
    return found


def text(found: Document) -> str:
    return "\n".join(block.text for section in found.sections for block in section.blocks)


class TestContract(ParserContract):
    samples: ClassVar = {"guide.pdf": GUIDE}

    @pytest.fixture
    def parser(self) -> Parser:
        return Pdf()


def test_larger_type_is_a_heading_and_every_block_has_its_page():
    found = document(GUIDE)
    assert [(section.headings, section.level) for section in found.sections] == [
        (("The mill",), 1),
        (("The mill", "Stones"), 2),
        (("The mill", "Grain"), 2),
    ]
    assert [section.place for section in found.sections] == [
        Place(pages=(1, 1)),
        Place(pages=(1, 1)),
        Place(pages=(2, 2)),
    ]
    assert {block.place.spot for section in found.sections[:2] for block in section.blocks} == {"p. 1"}
    assert {block.place.spot for block in found.sections[2].blocks} == {"p. 2"}
    assert "granite" in text(found)


def test_information_becomes_title_fields_and_dates():
    found = document(GUIDE)
    assert (found.title, found.id, found.path) == ("A guide to the mill", "dir/mill.pdf", "/root/dir/mill.pdf")
    assert found.fields == {"author": "Ada", "created": "2024-08-22T12:54:27+02:00"}
    assert found.created == datetime(2024, 8, 22, 10, 54, 27, tzinfo=UTC)
    assert found.modified is None


@pytest.mark.parametrize("title", ["", "untitled", "Microsoft Word - mill.doc", "mill.indd", "(anonymous)", "..."])
def test_a_made_up_title_is_not_taken(title: str):
    pages = [[(24, "The mill"), *paragraph("door")]]
    assert document(pdf(pages, info={"Title": title})).title == "The mill"
    assert document(pdf([paragraph("door")], info={"Title": title})).title == "mill"


def test_bookmarks_are_the_headings():
    pages: list[list[Line]] = [
        [(10, "Before the start."), (16, "1. Wheels"), *paragraph("oak")],
        [(16, "1.1 Spokes"), *paragraph("ash"), (16, "A note"), *paragraph("elm")],
    ]
    found = document(pdf(pages, [(1, "Wheels", 1), (2, "Spokes", 2), (1, "Merged.pdf", 2)]))
    assert [section.headings for section in found.sections] == [
        (),
        ("Wheels",),
        ("Wheels", "Spokes"),
        ("Wheels", "Spokes", "A note"),
    ]


def test_a_bookmark_without_a_line_of_its_own_begins_its_page():
    found = document(pdf([paragraph("oak"), paragraph("ash")], [(1, "First", 1), (1, "Second", 2)]))
    assert [(section.headings, section.place.spot) for section in found.sections] == [
        (("First",), "p. 1"),
        (("Second",), "p. 2"),
    ]


def test_a_bold_line_in_a_paragraph_is_a_heading():
    lines = [*paragraph("oak"), (10, "**The miller's house"), *paragraph("ash")]
    found = document(pdf([[(24, "The mill"), *lines]]))
    assert [section.headings for section in found.sections] == [("The mill",), ("The mill", "The miller's house")]
    assert "oak" in found.sections[0].blocks[0].text
    assert found.sections[1].blocks[0].text.startswith("The ash of the mill")


def test_a_table_is_a_markdown_table():
    rows = [["Grain", "Price", "Stock"], ["Wheat", "4.20", "17"], ["Rye", "3.10", "9"], ["Oats", "2.80", "41"]]
    found = document(pdf([[*paragraph("price"), *pdf_files.table(rows), *paragraph("stock")]]))
    table = next(block.text for section in found.sections for block in section.blocks if "|" in block.text)
    assert table.splitlines()[:3] == ["| Grain | Price | Stock |", "|---|---|---|", "| Wheat | 4.20 | 17 |"]


def test_running_heads_and_page_numbers_are_left_out():
    pages: list[list[Line]] = [
        [(9, "Journal of Mills, volume 7"), GAP, *paragraph(f"wheel{n}"), GAP, (9, f"Page {n} of 6")]
        for n in range(1, 7)
    ]
    found = text(document(pdf(pages)))
    assert "wheel4" in found
    assert "Journal of Mills" not in found
    assert "Page 3 of 6" not in found


def test_a_line_on_few_pages_is_kept():
    pages = [[(10, "Journal of Mills"), *paragraph(f"wheel{n}")] for n in range(2)]
    assert text(document(pdf(pages))).count("Journal of Mills") == 2


def test_more_pages_than_are_read_is_a_warning():
    found = document(pdf([paragraph(f"wheel{n}") for n in range(5)]), max_pages=2)
    assert found.warnings == ("5 pages, of which the first 2 were read (max_pages)",)
    assert "wheel1" in text(found)
    assert "wheel2" not in text(found)


def test_long_documents_are_read_in_batches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("watersmeet.parse.pdf._BATCH", 3)
    pages: list[list[Line]] = [[(16, f"Part {n}"), *paragraph(f"wheel{n}")] for n in range(1, 9)]
    pages[0].insert(0, (24, "The mill"))
    found = document(pdf(pages, [(1, "Last", 8)]))
    assert [section.place.spot for section in found.sections if section.headings[-1].startswith("Part")] == [
        f"p. {n}" for n in range(1, 9)
    ]
    assert found.sections[-2].headings == ("Last",)
    assert found.sections[-1].headings == ("Last", "Part 8")
    assert found.warnings == ()
    assert document(pdf(pages), max_pages=7).warnings == ("8 pages, of which the first 7 were read (max_pages)",)


def test_a_scanned_file_is_named_as_such():
    assert read(scanned(2)) == Skipped(
        "/root/dir/mill.pdf", "scanned: its pages hold no text, and text recognition is not part of this"
    )


def test_a_small_picture_in_a_file_without_text_is_a_scan_too():
    small = scanned(1).replace(b"612 0 0 792 0 0 cm", b"100 0 0 100 9 9 cm")
    found = read(small)
    assert isinstance(found, Skipped)
    assert found.reason.startswith("scanned")


def test_scanned_pages_are_a_warning_with_their_numbers():
    found = document(scanned(3, [paragraph("oak"), paragraph("ash")]))
    assert found.warnings == ("scanned, without text: pages 3-5",)
    assert document(scanned(1, [paragraph("oak")])).warnings == ("scanned, without text: page 2",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"<html>no</html>", "not a PDF file"),
        (pdf([[]]), "no text"),
        (pdf_files.encrypted(), "encrypted: it opens only with a password"),
        (b"%PDF-1.4\nnothing more", "damaged, or not a PDF file"),
    ],
    ids=["empty", "html", "blank", "encrypted", "damaged"],
)
def test_what_cannot_be_read_has_a_reason(content: bytes, reason: str):
    assert read(content) == Skipped("/root/dir/mill.pdf", reason)


def test_a_file_may_begin_with_other_lines():
    assert "granite" in text(document(b"GPL Ghostscript 10.02\n" + GUIDE))


def test_names_keep_their_underscores_and_stars():
    found = text(
        document(pdf([[*paragraph("door"), (10, "Call open_gate(*args) and set_max_flow(2) at once, if it rains.")]]))
    )
    assert "open_gate(*args)" in found
    assert "set_max_flow(2)" in found
