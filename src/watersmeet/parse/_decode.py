"""Decoding of bytes to text: detects the encoding, and refuses binary data."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(code for code in range(32) if chr(code) not in "\t\n\r\f\x1b") + b"\x7f"
_HIGH = bytes(range(128, 256))
_SAMPLE = 8192
_BLOCK = 1 << 20


class Decoded(NamedTuple):
    """Decoded text with `\\n` line ends, or the reason why there is none."""

    text: str
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def decode(content: bytes) -> Decoded:
    """Decode UTF-8, UTF-16 and UTF-32, and Windows-1252 where plausible; binary data is refused."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return _strictly(content, encoding)
    if b"\0" in content:
        wide = _wide(content[:_SAMPLE])
        guess = _strictly(content, wide) if wide else None
        return guess if guess and not guess.refusal else Decoded("", refusal="binary")
    if _share(content, _CONTROLS) > 0.1:
        return Decoded("", refusal="binary")
    try:
        return Decoded(_tidy(content.decode("utf-8")))
    except UnicodeDecodeError:
        return _damaged(content)


class DecodedLines(NamedTuple):
    """Decoded text line by line, without loading all of it."""

    lines: Iterable[str]
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def decode_lines(stream: BinaryIO) -> DecodedLines:
    """Decode a stream: UTF-8 is checked first and then read line by line; other encodings are loaded whole."""
    stream.seek(0)
    head = stream.read(_SAMPLE)
    encoding = _utf8_codec(head, stream)
    stream.seek(0)
    if encoding:
        return DecodedLines(_lines(stream, encoding))
    if b"\0" in head and not head.startswith(tuple(mark for mark, _ in _BOMS)) and not _wide(head):
        return DecodedLines((), refusal="binary")
    text, warnings, refusal = decode(stream.read())
    return DecodedLines(io.StringIO(text), warnings, refusal)


def _utf8_codec(head: bytes, stream: BinaryIO) -> str:
    """Codec of a stream that is valid UTF-8 text; empty for anything else."""
    marked = head.startswith(codecs.BOM_UTF8)
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = controls = 0
    block = head
    try:
        while block:
            text = decoder.decode(block)
            if b"\0" in block or (marked and "\ufffd" in text):
                return ""
            size += len(block)
            controls += len(block) - len(block.translate(None, _CONTROLS))
            block = stream.read(_BLOCK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return ""
    if controls > (0 if marked else 0.1 * size):
        return ""
    return "utf-8-sig" if marked else "utf-8"


def _lines(stream: BinaryIO, encoding: str) -> Iterator[str]:
    text = io.TextIOWrapper(stream, encoding, newline=None)
    try:
        yield from iter(text.readline, "")  # iterating the wrapper itself would close the stream
    finally:
        text.detach()  # the caller owns the stream


def _strictly(content: bytes, encoding: str) -> Decoded:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return Decoded("", refusal=f"cannot be decoded as {encoding.removesuffix('-sig').upper()}")
    odd = sum(map(text.count, ("\0", "\x01", "\x02", "\ufffd")))
    if odd * 10 > len(text):
        return Decoded("", refusal="binary")
    read_as = encoding.removesuffix("-sig").upper()
    return Decoded(_tidy(text), () if read_as == "UTF-8" else (f"decoded as {read_as}",))


def _wide(sample: bytes) -> str:
    """Codec of UTF-16 without a BOM: Western text has a NUL in every other byte; empty if it is not."""
    pairs = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if pairs and odd >= pairs * 0.4 and even <= pairs * 0.02:
        return "utf-16-le"
    if pairs and even >= pairs * 0.4 and odd <= pairs * 0.02:
        return "utf-16-be"
    return ""


def _damaged(content: bytes) -> Decoded:
    """Decode text that is not valid UTF-8: UTF-8 with a few bad bytes, or an older Western encoding."""
    lenient = content.decode("utf-8", "replace")
    bad = lenient.count("\ufffd")
    good = sum(not char.isascii() for char in lenient[:1_000_000]) - bad
    if good > 10 * bad:
        return Decoded(_tidy(lenient), (f"{bad} bytes are not UTF-8 and were replaced",))
    if _share(content, _CONTROLS) > 0.01 or _share(content, _HIGH) > 0.3:
        return Decoded("", refusal="cannot be decoded")
    try:
        return Decoded(_tidy(content.decode("cp1252")), ("decoded as cp1252",))
    except UnicodeDecodeError:
        return Decoded(_tidy(content.decode("latin-1")), ("decoded as latin-1",))


def _share(content: bytes, among: bytes) -> float:
    return 1 - len(content.translate(None, among)) / len(content) if content else 0.0


def _tidy(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "\ufffd") if "\0" in text else text
