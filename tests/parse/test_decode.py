from __future__ import annotations

import codecs
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.parse._decode import decode, decode_lines

TEXT = "Naïve café, größer\nsecond line\n"


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
    ],
)
def test_unicode(content: bytes):
    text, warnings, refusal = decode(content)
    assert (text, refusal) == (TEXT, "")
    assert all(warning.startswith("decoded as UTF-") for warning in warnings)
    assert bool(warnings) == (b"\0" in content)


def test_an_older_western_encoding_is_a_warning():
    assert decode(TEXT.encode("cp1252")) == (TEXT, ("decoded as cp1252",), "")
    assert decode(b"plain text, \x81 and more") == ("plain text, \x81 and more", ("decoded as latin-1",), "")


def test_utf8_with_a_few_bad_bytes_is_not_taken_for_something_else():
    text, warnings, refusal = decode(("Привет, мир. " * 50).encode() + b"\xff\xfe end")
    assert text.startswith("Привет, мир.")
    assert warnings == ("2 bytes are not UTF-8 and were replaced",)
    assert refusal == ""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "binary"),
        (b"text with a \0 in it", "binary"),
        (bytes(range(1, 32)) * 3, "binary"),
        ("Привет, мир. ".encode("cp1251") * 20, "cannot be decoded"),
        (codecs.BOM_UTF16_LE + b"a\0b", "cannot be decoded as UTF-16"),
        (os.urandom(4096) + b"\0", "binary"),
    ],
)
def test_what_is_not_text_is_refused(content: bytes, reason: str):
    assert decode(content) == ("", (), reason)


def test_nothing_is_text():
    assert decode(b"") == ("", (), "")


@given(st.binary(max_size=200))
def test_any_bytes_give_text_or_a_reason(content: bytes):
    text, _, refusal = decode(content)
    assert not (text and refusal)
    assert "\0" not in text
    assert "\r" not in text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_utf8_survives(text: str):
    assert decode(text.encode()).text == text.removeprefix("\ufeff")


ENCODED = st.tuples(st.text(max_size=40), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"]))


@given(st.binary(max_size=60) | ENCODED.map(lambda made: made[0].encode(made[1], "surrogatepass")))
def test_line_by_line_it_is_the_same(content: bytes) -> None:
    whole = decode(content)
    lines, warnings, refusal = decode_lines(io.BytesIO(content))
    assert (list(lines), warnings, refusal) == (list(io.StringIO(whole.text)), whole.warnings, whole.refusal)


def test_utf_8_is_never_held_as_a_whole() -> None:
    class Stream(io.BytesIO):
        largest = 0

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert size > 0
            self.largest = max(self.largest, size)
            return super().read(size)

        def read1(self, size: int | None = -1, /) -> bytes:
            return self.read(size)

    for mark in (b"", codecs.BOM_UTF8):
        stream = Stream(mark + "größer\r\n".encode() * 400_000)
        lines = decode_lines(stream).lines
        assert sum(line == "größer\n" for line in lines) == 400_000
        assert stream.largest <= 1 << 20
        assert not stream.closed


def test_what_is_not_text_is_not_read_to_its_end() -> None:
    stream = io.BytesIO(b"\0" * 10_000_000)
    assert decode_lines(stream).refusal == "binary"
    assert stream.tell() < 1_000_000
