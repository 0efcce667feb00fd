from __future__ import annotations

from typing import ClassVar

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Parser
from watersmeet.parse.filename import Filename
from watersmeet.testing.contracts.parser import ParserContract


class TestFilename(ParserContract):
    samples: ClassVar = {"pictures/harbour at low tide.png": b"\x89PNG\r\n\x1a\n"}

    @pytest.fixture
    def parser(self) -> Parser:
        return Filename()


def test_the_path_is_the_text() -> None:
    [document] = Filename().parse(Found("maps/estuary 1912.tif", "/srv/maps/estuary 1912.tif", "1"), b"")
    assert isinstance(document, Document)
    assert document.kind == "file"
    assert document.title == "estuary 1912.tif"
    assert document.sections[0].blocks[0].text == "maps/estuary 1912.tif"
