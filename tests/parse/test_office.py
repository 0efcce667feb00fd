from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

import pytest

import office_files as files
from watersmeet.core.documents import Document, Link
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse.office import Office
from watersmeet.testing.contracts.parser import ParserContract

ROWS = [["Grain", "Price"], ["Wheat", "4.20"], ["Rye | spelt", "3.10"]]
TABLE = "| Grain | Price |\n|---|---|\n| Wheat | 4.20 |\n| Rye \\| spelt | 3.10 |"
DOCX = files.docx(
    [
        files.heading(1, "The mill"),
        files.paragraph("Möwen über dem Fluß, see ", "the wheel"),
        files.heading(2, "Prices"),
        files.word_table(ROWS),
        files.paragraph("and ", "the web", 2),
    ],
    ["parts/wheel.docx#Spokes", "https://example.org/mill"],
    title="A guide to the mill",
    author="Ada",
    keywords="mill, river",
    created="2024-01-02T03:04:05Z",
    modified="2024-05-06T07:08:09Z",
)
PPTX = files.pptx(
    [
        ("The mill", ["It stands at the river.", "It is old."], ""),
        ("", ["No title."], "Speak about the wheel."),
        ("Grain", ["Wheat and rye."], "Speak about the flour."),
    ]
)
XLSX = files.xlsx({"Prices": [["Prices of 2024"], [], *ROWS], "Stock": [["Grain", "Tons"], ["Oats", "12"]]})
ODP = files.odp([("The mill", ["At the river."], "A note."), ("Grain", ["Wheat."], "")], title="Mills")


def read(content: bytes, name: str) -> Document | Skipped:
    (found,) = Office().parse(Found(name, f"/root/{name}", "0"), content)
    return found


def document(content: bytes, name: str) -> Document:
    found = read(content, name)
    assert isinstance(found, Document), found
    return found


def reason(content: bytes, name: str) -> str:
    found = read(content, name)
    assert isinstance(found, Skipped)
    assert found.path == f"/root/{name}"
    return found.reason


def outline(found: Document) -> list[tuple[tuple[str, ...], str, list[str]]]:
    return [(one.headings, one.place.spot, [block.text for block in one.blocks]) for one in found.sections]


class TestContract(ParserContract):
    samples: ClassVar = {
        "guide.docx": DOCX,
        "talk.pptx": PPTX,
        "prices.xlsx": XLSX,
        "guide.odt": files.odt([(1, "The mill"), (0, "It is old.")], ROWS),
        "prices.ods": files.ods({"Prices": ROWS}),
        "talk.odp": ODP,
        "book.epub": files.epub(["<h1>The mill</h1><p>It is old.</p>"]),
        "guide.rtf": files.rtf([(1, "The mill"), (0, "It is old.")]),
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Office()


def test_word_headings_tables_and_links():
    found = document(DOCX, "dir/guide.docx")
    assert outline(found) == [
        (("The mill",), "", ["Möwen über dem Fluß, see [the wheel](parts/wheel.docx#Spokes)"]),
        (("The mill", "Prices"), "", [TABLE, "and [the web](https://example.org/mill)"]),
    ]
    assert found.links == (Link("parts/wheel.docx", "markdown", "Spokes", "the wheel"),)
    assert (found.id, found.kind, found.path) == ("dir/guide.docx", "document", "/root/dir/guide.docx")


def test_properties_become_title_fields_and_dates():
    found = document(DOCX, "guide.docx")
    assert found.title == "A guide to the mill"
    assert found.fields["author"] == "Ada"
    assert found.fields["keywords"] == ["mill", "river"]
    assert found.created == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert found.modified == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_without_a_title_the_first_heading_is_it():
    assert document(files.docx([files.heading(1, "The mill"), files.paragraph("x")]), "g.docx").title == "The mill"
    assert document(files.docx([files.paragraph("x")]), "dir/g.docx").title == "g"
    assert document(XLSX, "prices.xlsx").title == "prices"


def test_slides_have_numbers_titles_and_their_own_notes():
    assert outline(document(PPTX, "talk.pptx")) == [
        (("The mill",), "slide 1", ["It stands at the river.", "It is old."]),
        ((), "slide 2", ["No title.", "Speak about the wheel."]),
        (("Grain",), "slide 3", ["Wheat and rye.", "Speak about the flour."]),
    ]


def test_runs_of_text_are_joined_without_blanks():
    runs = "<a:r><a:t>water</a:t></a:r><a:r><a:rPr b='1'/><a:t>mill</a:t></a:r>"
    content = files.changed(PPTX, "ppt/slides/slide1.xml", "<a:r><a:t>It is old.</a:t></a:r>", runs)
    assert "watermill" in document(content, "talk.pptx").sections[0].blocks[1].text


def test_charts_of_slides_are_tables():
    values = "".join(
        f"<c:ser><c:tx><c:v>{name}</c:v></c:tx><c:cat><c:pt><c:v>2023</c:v></c:pt><c:pt><c:v>2024</c:v></c:pt></c:cat>"
        f"<c:val><c:pt><c:v>{first}</c:v></c:pt><c:pt><c:v>{second}</c:v></c:pt></c:val></c:ser>"
        for name, first, second in (("Wheat", 4, 5), ("Rye", 3, 2))
    )
    relation = "</Relationships>"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart"
    content = files.changed(
        PPTX,
        "ppt/slides/_rels/slide2.xml.rels",
        relation,
        f'<Relationship Id="rId9" Type="{kind}" Target="../charts/chart1.xml"/>{relation}',
    )
    with_chart = files.added(content, "ppt/charts/chart1.xml", f'<c:chart xmlns:c="urn:c">{values}</c:chart>')
    blocks = [block.text for block in document(with_chart, "talk.pptx").sections[1].blocks]
    assert "|  | Wheat | Rye |\n|---|---|---|\n| 2023 | 4 | 3 |\n| 2024 | 5 | 2 |" in blocks


def test_sheets_have_names_and_blank_rows_part_tables():
    assert outline(document(XLSX, "prices.xlsx")) == [
        (("Prices",), "sheet Prices", ["Prices of 2024", TABLE]),
        (("Stock",), "sheet Stock", ["| Grain | Tons |\n|---|---|\n| Oats | 12 |"]),
    ]


def test_open_document_text():
    found = document(files.odt([(1, "The mill"), (0, "It is old."), (2, "Prices")], ROWS, "Mills", "Ada"), "g.odt")
    assert outline(found) == [(("The mill",), "", ["It is old."]), (("The mill", "Prices"), "", [TABLE])]
    assert (found.title, found.fields["author"]) == ("Mills", "Ada")
    assert found.modified == datetime(2024, 3, 1, 10, tzinfo=UTC)


def test_open_document_spreadsheet():
    found = document(files.ods({"Prices": ROWS, "Stock": [["Oats", "12"], ["Rye", "3"]]}), "g.ods")
    assert [(one.headings, one.place.spot) for one in found.sections] == [
        (("Prices",), "sheet Prices"),
        (("Stock",), "sheet Stock"),
    ]
    assert found.sections[0].blocks[0].text == TABLE


def test_open_document_presentation():
    assert outline(document(ODP, "talk.odp")) == [
        (("The mill",), "slide 1", ["At the river.", "A note."]),
        (("Grain",), "slide 2", ["Wheat."]),
    ]


def test_books():
    chapters = ["<h1>The mill</h1><p>It is <a href='c2.xhtml'>old</a>.</p>", "<h1>Grain</h1><h2>Rye</h2><p>Dark.</p>"]
    found = document(files.epub(chapters, "Mills", "Ada"), "b.epub")
    assert outline(found) == [
        (("The mill",), "", ["It is [old](c2.xhtml)."]),
        (("Grain",), "", []),
        (("Grain", "Rye"), "", ["Dark."]),
    ]
    assert (found.title, found.fields["author"]) == ("Mills", "Ada")


def test_rich_text():
    found = document(files.rtf([(1, "The mill"), (0, "Möwen."), (2, "Prices")], ROWS), "g.rtf")
    assert outline(found) == [(("The mill",), "", ["Möwen."]), (("The mill", "Prices"), "", [TABLE])]


@pytest.mark.parametrize("name", ["guide.doc", "guide.xls", "guide.odt"])
def test_a_file_is_read_as_what_it_is(name: str):
    assert document(files.rtf([(1, "The mill"), (0, "Old.")]), name).sections[0].headings == ("The mill",)
    assert document(DOCX, name).sections[0].headings == ("The mill",)


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"", "g.docx", "empty"),
        (b"just a text", "g.docx", "not a Word file"),
        (b"\0\1\2", "g.ppt", "not a PowerPoint file"),
        (b"<html><p>x", "g.doc", "an HTML page, not a Word file; it is read if it is named .html"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "g.xls", "an HTML page, not an Excel file; it is read if it is named .html"),
        (b"a,b\n1,2\n", "g.xls", "plain text, not an Excel file; it is read if it is named .csv or .tsv"),
        (b"<?xml version='1.0'?><w:wordDocument/>", "g.doc", "an XML file, not a Word file"),
        (files.zipped({"a.txt": "x"}), "g.docx", "a ZIP archive, but no Office file"),
        (files.docx([]), "g.docx", "no text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "g.docx", "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2000, "g.doc", "an old Microsoft file of a kind"),
        (DOCX[: len(DOCX) // 2], "g.docx", "damaged: not a complete ZIP archive"),
        (files.zipped({"word/x.xml": "<x/>"}), "g.docx", "damaged, or not a Word file"),
    ],
)
def test_what_cannot_be_read_has_a_reason(content: bytes, name: str, expected: str):
    assert reason(content, name).startswith(expected)


def test_a_table_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("watersmeet.parse.office._MAX_CELLS", 100)
    rows = [[f"{row}", f"x{row}"] for row in range(60)]
    assert reason(files.xlsx({"S": rows}), "g.xlsx") == "too large: a table of more than 100 cells"
    assert reason(files.docx([files.word_table(rows)]), "g.docx") == "too large: a table of more than 100 cells"


def test_an_archive_that_unpacks_to_much_more_is_not_read():
    content = files.docx([files.paragraph("x" * 10_000_000)])
    assert reason(content, "g.docx").startswith("too large when unpacked")


def test_encrypted_open_document():
    manifest = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    media = "application/vnd.oasis.opendocument.text"
    content = files.zipped({"mimetype": media, "META-INF/manifest.xml": manifest, "content.xml": b"\1\2"})
    assert reason(content, "g.odt") == "encrypted: it opens only with a password"
