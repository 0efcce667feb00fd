"""The contract of a parser, passed by ours."""

from __future__ import annotations

from typing import ClassVar

import pytest

from watersmeet.core.indexing import Parser
from watersmeet.parse.jsonl import Jsonl
from watersmeet.parse.markdown import Markdown
from watersmeet.parse.text import Text
from watersmeet.testing.contracts.parser import ParserContract


class TestMarkdown(ParserContract):
    samples: ClassVar = {
        "guide.md": b"---\ntags: [start]\naliases: [Begin]\n---\n# Guide\n\nSee [[Keys]] and #security.\n\n"
        b"## Ports\n\n- one\n- two\n\n```sh\nserve --port 7878\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "plain.md": "Kein Titel, nur Text: Möwen.\r\n\r\nZweiter Absatz.".encode(),
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Markdown()


class TestText(ParserContract):
    samples: ClassVar = {"notes.txt": b"First paragraph.\n\nSecond one,\nof two lines.\n"}

    @pytest.fixture
    def parser(self) -> Parser:
        return Text()


class TestJsonl(ParserContract):
    samples: ClassVar = {
        "corpus.jsonl": b'{"_id": "1", "title": "Tides", "text": "They come and go."}\n'
        b'{"_id": "2", "title": "Gulls", "text": "They stay.", "metadata": {"kind": "bird"}}\n'
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Jsonl()
