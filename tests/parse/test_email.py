from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

import pytest

from watersmeet.core.documents import Document, Link
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse._mail import html_text, opened
from watersmeet.parse.email import Email
from watersmeet.testing.contracts.parser import ParserContract

PLAIN = """From: =?utf-8?q?J=C3=B6rg?= <j@x.org>
To: bob@x.org
Subject: =?utf-8?b?R3LDvMOfZQ==?= to
 you
Date: Tue, 05 Mar 2024 10:00:00 +0100
Message-ID: <2@x.org>
In-Reply-To: <1@x.org>
References: <0@x.org> <1@x.org>

They come.

> Do they?
> Really?
Yes.

--\x20
Ada

Sea lab
"""


class TestContract(ParserContract):
    samples: ClassVar = {"note.eml": PLAIN.replace("\n", "\r\n").encode()}

    @pytest.fixture
    def parser(self) -> Parser:
        return Email()


def read(content: str | bytes) -> Document:
    content = content.encode() if isinstance(content, str) else content
    (document,) = Email().parse(Found("mail/a.eml", "/root/mail/a.eml", "0"), content)
    assert isinstance(document, Document)
    return document


def texts(content: str | bytes) -> list[str]:
    return [block.text for section in read(content).sections for block in section.blocks]


def test_headers_are_title_fields_dates_and_links():
    document = read(PLAIN)
    assert (document.id, document.kind, document.title) == ("mail/a.eml", "email", "Grüße to you")
    assert document.fields == {
        "from": "Jörg <j@x.org>",
        "to": "bob@x.org",
        "date": "2024-03-05T09:00:00+00:00",
        "message_id": "2@x.org",
    }
    assert document.created == document.modified == datetime(2024, 3, 5, 9, tzinfo=UTC)
    assert document.aliases == ("2@x.org",)
    assert document.links == (Link("1@x.org", "related"), Link("0@x.org", "related"))


def test_quotes_and_the_signature_are_blocks():
    assert texts(PLAIN) == [
        "From: Jörg <j@x.org>\nTo: bob@x.org",
        "They come.",
        "> Do they?\n> Really?",
        "Yes.",
        "--\nAda\n\nSea lab",
    ]


MIXED = """From: a@x.org
Content-Type: multipart/mixed; boundary="XX"

--XX
Content-Type: multipart/alternative; boundary=YY

--YY
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

M=F6wen, long =
line
--YY
Content-Type: text/html

<p>Other</p>
--YY--
--XX
Content-Type: application/pdf
Content-Disposition: attachment; filename="plan.pdf"
Content-Transfer-Encoding: base64

AAAA
--XX--
"""


def test_the_text_part_is_preferred_and_attachments_are_named():
    assert texts(MIXED) == ["From: a@x.org", "Möwen, long line", "Attachments: plan.pdf"]
    assert read(MIXED).fields["attachments"] == ["plan.pdf"]


def test_a_part_without_headers_is_text():
    text = "From: a@x.org\nContent-Type: multipart/mixed; boundary=X\n\nnot shown\n--X\n\nfirst: one\n\ntwo\n"
    text += "--X--\nnor this\n"
    assert texts(text) == ["From: a@x.org", "first: one", "two"]


def test_the_mark_of_a_nested_part_may_be_longer():
    text = "From: a@x.org\nContent-Type: multipart/mixed; boundary=X\n\n"
    text += "--X\nContent-Type: multipart/mixed; boundary=XY\n\n--XY\n\none\n--XY--\n--X\n\ntwo\n--X--\n"
    assert texts(text) == ["From: a@x.org", "one", "two"]


def test_a_forwarded_message_is_read():
    text = "From: a@x.org\nContent-Type: message/rfc822\n\nFrom: b@x.org\nSubject: Old\n\nThe old text.\n"
    assert texts(text) == ["From: a@x.org", "The old text."]


def test_html_without_a_text_part_becomes_text():
    html = "From: a@x.org\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\n"
    html += "PHA+SGVsbG8gJmFtcDsgPGI+Z29vZDwvYj4gZGF5PC9wPjx1bD48bGk+b25lPC9saT48bGk+dHdvPC9saT48L3VsPg==\n"
    assert texts(html)[1:] == ["Hello & good day", "- one\n- two"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<style>p { x }</style>a<script>if (a < b) {}</script>b", "ab"),
        ("x <!-- hidden <b>y</b> --> z", "x z"),
        ("1 < 2 &lt; 3", "1 < 2 < 3"),
        ("<p>one\ntwo</p><div>three</div>", "one two\n\nthree"),
        ("a <b", "a <b"),
    ],
)
def test_html_text(html: str, text: str):
    assert html_text(html) == text


def test_200_000_parts_are_capped():
    parts = "--X\nContent-Disposition: attachment; filename=a\n\nx\n" * 200_000
    document = read(f"From: a@x.org\nContent-Type: multipart/mixed; boundary=X\n\n{parts}")
    assert document.warnings == ("more than 500 parts; the others are left out",)
    assert len(document.fields["attachments"]) == 500 - 1


def test_parts_nested_deeply_are_left_out():
    deep = "".join(f"Content-Type: multipart/mixed; boundary=B{n}\n\n--B{n}\n" for n in range(5000))
    assert texts(f"From: a@x.org\n{deep}\nbottom") == ["From: a@x.org"]


@pytest.mark.parametrize(
    "headers",
    [
        "Date: yesterday",
        "Date: Tue, 99 Mar 99999 10:00:00 +9900",
        "Subject: =?nonsense?q?x?=",
        "Subject: =?utf-8?b?####?=",
        "Content-Type: text/plain; charset=nonsense",
        "Content-Type: multipart/mixed",
        "Content-Transfer-Encoding: base64",
        "Message-ID: none",
        "X: " + "y" * 1_000_000,
    ],
)
def test_odd_headers_do_no_harm(headers: str):
    assert "From: a@x.org" in texts(f"From: a@x.org\n{headers}\n\ntext")


def test_a_text_is_no_message():
    (skipped,) = Email().parse(Found("a.eml", "/a.eml", "0"), b"Just text.\n\nMore.")
    assert skipped == Skipped("/a.eml", "not an e-mail: it has no headers")


def test_parameters_of_a_header_are_capped() -> None:
    """The library's time is quadratic in them."""
    head = b"From: a@b\nContent-Type: text/plain; " + b"a*0=b; " * 50_000
    mail = opened(head + b"\n\nThe tide is high.")
    assert len(str(mail.head["Content-Type"])) <= 4_000
    [document] = Email().parse(Found("a.eml", "/a.eml", "1"), head + b"\n\nThe tide is high.")
    assert isinstance(document, Document)
    assert "The tide is high." in document.sections[0].blocks[-1].text
