from __future__ import annotations

import io
from typing import ClassVar

import pytest

from watersmeet.core.documents import Document, Link
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse.mbox import Mbox
from watersmeet.testing.contracts.parser import ParserContract

FOUND = Found("list.mbox", "/root/list.mbox", "0")


def mail(subject: str, id_: str = "", more: str = "", text: str = "Hello.") -> str:
    id_ = f"Message-ID: <{id_}>\n" if id_ else ""
    return f"From a@x.org Tue Mar  5 10:00:00 2024\nFrom: a@x.org\nSubject: {subject}\n{id_}{more}\n{text}\n\n"


class TestContract(ParserContract):
    samples: ClassVar = {"list.mbox": (mail("One", "1@x.org") + mail("Two")).encode()}

    @pytest.fixture
    def parser(self) -> Parser:
        return Mbox()


def read(text: str) -> list[Document | Skipped]:
    return list(Mbox().parse_stream(FOUND, io.BytesIO(text.encode())))


def documents(text: str) -> list[Document]:
    return [one for one in read(text) if isinstance(one, Document)]


def test_a_message_is_a_document():
    one, two = documents(mail("One", "1@x.org") + mail("Re: One", "2@x.org", "In-Reply-To: <1@x.org>\n"))
    assert (one.id, one.kind, one.title, one.path) == ("list.mbox#1@x.org", "email", "One", "/root/list.mbox")
    assert one.aliases == ("1@x.org",)
    assert (two.id, two.links) == ("list.mbox#2@x.org", (Link("1@x.org", "related"),))


def test_ids_stay_when_messages_are_added():
    text = mail("One", "1@x.org") + mail("Two") + mail("Again", "1@x.org")
    before = [(one.id, one.title) for one in documents(text)]
    assert before == [("list.mbox#1@x.org", "One"), ("list.mbox#2", "Two"), ("list.mbox#1@x.org~2", "Again")]
    assert [(one.id, one.title) for one in documents(text + mail("Four") + mail("Five", "5"))][:3] == before


def test_from_in_a_text_does_not_begin_a_message():
    (one,) = documents(mail("One", text="a\nFrom here on\n\n>From there\n>> From x"))
    blocks = [block.text for section in one.sections for block in section.blocks]
    assert blocks[1:] == ["a\nFrom here on", "From there", ">> From x"]


def test_a_message_without_headers_is_reported_and_the_rest_is_read():
    one, skipped, two = read(mail("One") + "From x\n\njust text\n\n" + mail("Two"))
    assert isinstance(one, Document)
    assert skipped == Skipped("/root/list.mbox#2", "not an e-mail: it has no headers")
    assert isinstance(two, Document)


def test_many_bad_messages_are_counted():
    bad = "From x\n\ntext\n\n" * 150
    assert read(mail("One") + bad)[-1] == Skipped("/root/list.mbox", "50 more messages cannot be read")
    assert len(read(bad)) == 101
    assert read(bad)[-1] == Skipped("/root/list.mbox", "no message among the first 100; the rest was not read")


def test_another_file_is_skipped():
    assert read("Hello") == [Skipped("/root/list.mbox", "not a mailbox: its first line does not begin with `From `")]


def test_a_line_of_megabytes_is_read():
    assert len(documents(mail("One", text="x" * 5_000_000) + mail("Two"))) == 2
