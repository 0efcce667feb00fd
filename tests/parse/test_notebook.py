from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from watersmeet.core.documents import Block, Document, Link
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.core.place import Place
from watersmeet.parse.notebook import Notebook
from watersmeet.testing.contracts.parser import ParserContract

FOUND = Found("nb/tides.ipynb", "/root/nb/tides.ipynb", "0")


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}).encode()


def markdown(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": list(lines)}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


class TestContract(ParserContract):
    samples: ClassVar = {"tides.ipynb": notebook(markdown("# Tides\n", "They come."), code("1 + 1"))}

    @pytest.fixture
    def parser(self) -> Parser:
        return Notebook()


def read(content: bytes, **options: Any) -> Document:
    (document,) = Notebook(**options).parse(FOUND, content)
    assert isinstance(document, Document)
    return document


def texts(document: Document) -> list[str]:
    return [block.text for section in document.sections for block in section.blocks]


def test_cells_are_blocks_under_the_heading_before_them():
    document = read(
        notebook(
            markdown("Intro"),
            markdown("# Tides\n", "\n", "See [[Moon]].\n", "\n", "## Data\n"),
            code("import pandas\n\ndf = 1"),
            markdown("more #sea"),
            markdown("## End"),
        )
    )
    assert (document.title, document.id, document.kind) == ("Tides", "nb/tides.ipynb", "document")
    assert [(s.headings, s.level, s.place.where) for s in document.sections] == [
        ((), 0, "#cell-1"),
        (("Tides",), 1, "#cell-2"),
        (("Tides", "Data"), 2, "#cell-2"),
        (("Tides", "End"), 2, "#cell-5"),
    ]
    assert document.sections[2].blocks == (
        Block("```python\nimport pandas\n\ndf = 1\n```", Place(anchor="cell-3")),
        Block("more #sea", Place(anchor="cell-4")),
    )
    assert document.links == (Link("Moon"),)
    assert document.tags == ("sea",)
    assert document.fields == {"language": "python"}


def test_outputs_are_short_and_without_pictures():
    outputs = [
        {"output_type": "stream", "text": ["one\n", "two\n"]},
        {"output_type": "execute_result", "data": {"text/plain": "x" * 1000, "text/html": "<b>"}},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure at 0x7f>"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "\x1b[31mbad\x1b[0m", "traceback": ["long"]},
    ]
    content = notebook(code("f()", *outputs))
    assert texts(read(content)) == [
        "```python\nf()\n```",
        "```text\none\ntwo\n```",
        "```text\n" + "x" * 500 + " …\n```",
        "```text\nValueError: bad\n```",
    ]
    assert texts(read(content, max_output=0)) == ["```python\nf()\n```"]


def test_a_picture_in_a_cell_is_left_out():
    assert texts(read(notebook(markdown("see ![tide](data:image/png;base64,AAAA) here")))) == ["see tide here"]


def test_a_fence_in_code_does_not_end_it():
    assert texts(read(notebook(code('"""\n```\nx\n```\n"""'))))[0].startswith("````python\n")


def test_an_older_notebook_has_worksheets():
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "1"}]
    document = read(json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode())
    assert [s.headings for s in document.sections] == [("Old",)]
    assert texts(document) == ["```\n1\n```"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"cells": ' + b"[" * 200_000, "nested too deeply"),
        (b"{", "not a notebook: "),
        (b"[]", "not a notebook: it has no cells"),
        (b'{"cells": 3}', "not a notebook: it has no cells"),
    ],
)
def test_what_is_no_notebook_is_skipped(content: bytes, reason: str):
    (skipped,) = Notebook().parse(FOUND, content)
    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith(reason)


@pytest.mark.parametrize("cell", [3, None, {}, {"cell_type": "code", "outputs": 3}, {"cell_type": [], "source": {}}])
def test_odd_cells_do_no_harm(cell: Any):
    content = json.dumps({"cells": [cell, markdown("text")], "metadata": 3}).encode()
    assert texts(read(content)) == ["text"]


def test_many_cells_are_cut():
    document = read(notebook(*[code("1")] * 20_001))
    assert document.warnings == ("more than 20,000 cells; the others are left out",)
    assert len(texts(document)) == 20_000
