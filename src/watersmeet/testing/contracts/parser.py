"""The contract of `Parser`: what is written in a file, however broken it is.

Subclass it with a fixture `parser` and with `samples`: names of files that it reads, each with the content.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping

import pytest

from watersmeet.core.documents import Block, Document
from watersmeet.core.indexing import Found, Parser, Skipped, StreamParser

READS = re.compile(r"\.[^A-Z/\s]+|[a-z0-9.+-]+/[a-z0-9.+*-]+|[a-z][a-z0-9._-]*")
"""A file ending with its dot, a media type, or the whole name of a file."""
BROKEN = (b"", b"\0\0\0", b"\xff\xfe\x00\xd8", b"\xc3\x28" * 50, b"---\n: [\n", b'{"', bytes(range(256)) * 4)


def found_as(name: str, content: bytes) -> Found:
    """A file of this name."""
    return Found(name, f"/srv/{name}", f"{len(content)} bytes")


def blocks_of(document: Document) -> Iterator[Block]:
    for section in document.sections:
        yield from section.blocks


class ParserContract:
    samples: Mapping[str, bytes]

    @pytest.fixture
    def parser(self) -> Parser:
        raise NotImplementedError("the contract of a parser needs the fixture `parser`")

    def _read(self, parser: Parser, found: Found, content: bytes) -> tuple[list[Document], list[Skipped]]:
        every = list(parser.parse(found, content))
        documents = [one for one in every if isinstance(one, Document)]
        skipped = [one for one in every if isinstance(one, Skipped)]
        assert len(documents) + len(skipped) == len(every)
        return documents, skipped

    def test_it_says_what_it_reads(self, parser: Parser) -> None:
        assert parser.reads
        assert [one for one in parser.reads if not READS.fullmatch(one)] == []

    def test_samples_are_read(self, parser: Parser) -> None:
        for name, content in self.samples.items():
            documents, skipped = self._read(parser, found_as(name, content), content)
            assert documents
            assert skipped == []
            assert len({document.id for document in documents}) == len(documents)

    def test_documents_have_a_name_a_title_and_a_text(self, parser: Parser) -> None:
        for name, content in self.samples.items():
            for document in self._read(parser, found_as(name, content), content)[0]:
                assert document.id
                assert document.kind
                assert document.title.strip()
                assert any(block.text.strip() for block in blocks_of(document))

    def test_lines_are_those_of_the_content(self, parser: Parser) -> None:
        for name, content in self.samples.items():
            lines = content.count(b"\n") + 1
            for document in self._read(parser, found_as(name, content), content)[0]:
                spans = [block.place.lines for block in blocks_of(document) if block.place.lines]
                assert all(1 <= first <= last <= lines for first, last in spans)
                assert spans == sorted(spans)

    def test_the_same_content_gives_the_same_documents(self, parser: Parser) -> None:
        for name, content in self.samples.items():
            found = found_as(name, content)
            assert self._read(parser, found, content) == self._read(parser, found, content)

    def test_a_stream_gives_the_same_documents(self, parser: Parser) -> None:
        """For parsers that stream a file."""
        if not isinstance(parser, StreamParser):
            return
        for name, content in self.samples.items():
            found = found_as(name, content)
            whole = self._read(parser, found, content)[0]
            assert list(parser.parse_stream(found, io.BytesIO(content))) == whole

    def test_half_a_file_is_read_or_passed_over(self, parser: Parser) -> None:
        """Nothing is raised: problems are reported for the part that has them."""
        for name, content in self.samples.items():
            for share in range(0, len(content), max(1, len(content) // 20)):
                self._read(parser, found_as(name, content[:share]), content[:share])

    @pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
    def test_garbage_is_read_or_passed_over(self, parser: Parser, content: bytes) -> None:
        for name in self.samples:
            self._read(parser, found_as(name, content), content)
