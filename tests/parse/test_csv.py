from __future__ import annotations

from typing import Any, ClassVar

import pytest

from watersmeet.core.documents import Block, Document
from watersmeet.core.indexing import Found, Parser
from watersmeet.core.place import Place
from watersmeet.parse.csv import Csv
from watersmeet.testing.contracts.parser import ParserContract


class TestContract(ParserContract):
    samples: ClassVar = {
        "birds.csv": b'name,legs\nGull,2\n"Tern, small",2\n',
        "birds.tsv": b"name\tlegs\nGull\t2\n",
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Csv()


def read(text: str, name: str = "data/birds.csv", **options: Any) -> Document:
    (document,) = Csv(**options).parse(Found(name, f"/root/{name}", "0"), text.encode())
    assert isinstance(document, Document)
    return document


def blocks(text: str, name: str = "data/birds.csv", **options: Any) -> tuple[Block, ...]:
    return tuple(block for section in read(text, name, **options).sections for block in section.blocks)


def test_rows_are_a_markdown_table():
    document = read('name,says\nGull,"a | b\nand c"\n\nTern,\n')
    assert (document.title, document.id, document.kind) == ("birds", "data/birds.csv", "document")
    assert document.fields == {"columns": ["name", "says"]}
    assert document.sections[0].blocks == (
        Block("| name | says |\n|---|---|\n| Gull | a \\| b and c |\n| Tern |  |", Place((1, 5))),
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str):
    text = "\n".join(delimiter.join(row) for row in (["name", "price"], ["Gull", '"1,5; or 2"'], ["Tern", '"2,5"']))
    assert blocks(text)[0].text == "| name | price |\n|---|---|\n| Gull | 1,5; or 2 |\n| Tern | 2,5 |"


def test_a_tab_separates_in_a_tsv_file():
    assert blocks("a,b,c\td\n1,2,3\t4\n", "x.tsv")[0].text == "| a,b,c | d |\n|---|---|\n| 1,2,3 | 4 |"


def test_a_title_before_the_table_is_text():
    title, table = blocks("Birds of 2024\n\nname,legs,wings\nGull,2,2\nTern,2,2\n")
    assert title == Block("Birds of 2024", Place((1, 1)))
    assert table == Block("| name | legs | wings |\n|---|---|---|\n| Gull | 2 | 2 |\n| Tern | 2 | 2 |", Place((3, 5)))


def test_without_a_header_its_row_is_empty():
    assert blocks("1,Gull\n2,Tern\n")[0].text == "|  |  |\n|---|---|\n| 1 | Gull |\n| 2 | Tern |"


def test_each_block_of_a_long_table_begins_with_the_header():
    found = blocks("name,says\n" + "".join(f"bird {n},caw\n" for n in range(450)))
    assert [block.text.count("\n") for block in found] == [201, 201, 51]
    assert all(block.text.startswith("| name | says |\n|---|---|\n| bird") for block in found)
    assert [block.place.lines for block in found] == [(1, 201), (200, 401), (400, 451)]


def test_rows_and_columns_are_capped():
    document = read("a,b\n" + "x,y\n" * 30, max_rows=10)
    assert document.warnings == ("more than 10 rows; the others are left out",)
    assert document.sections[0].blocks[0].text.count("x") == 10
    document = read(",".join(f"c{n}" for n in range(1_000_000)))
    assert document.warnings == ("more than 200 columns; the others are left out",)
    assert "| c199 |" in document.sections[0].blocks[0].text


def test_a_table_of_numbers_is_cut():
    document = read("x,y\n" + "1.5,-2e3\n" * 5000)
    assert document.warnings == ("nearly all cells are numbers; only the first 200 rows are read",)
    assert document.sections[0].blocks[0].text.count("1.5") == 200
    assert read("x,y\n" + "1.5,caw\n" * 5000).warnings == ()


def test_a_quote_that_is_not_closed_does_not_take_the_rest():
    text = 'a,b\n1,"x\n' + "bird,caw\n" * 50_000
    assert sum(block.text.count("caw") for block in blocks(text)) > 9_000


@pytest.mark.parametrize("text", ["", "\n\n", '"', '"' * 500_000, "x" * 3_000_000, ",", "\0", '"a",' * 100_000])
def test_odd_texts_are_read_or_skipped(text: str):
    list(Csv().parse(Found("a.csv", "/a.csv", "0"), text.encode()))
