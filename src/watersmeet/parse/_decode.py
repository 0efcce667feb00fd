"""Which characters do these bytes stand for, if they are text at all?"""

from __future__ import annotations

import codecs
from typing import NamedTuple

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


class Decoded(NamedTuple):
    """Text with `\\n` at its line ends, or the reason for which there is none."""

    text: str
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def decode(content: bytes) -> Decoded:
    """UTF-8, UTF-16 and UTF-32; Windows-1252 where that is plausible; never binary data."""
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
    """UTF-16 without a mark shows in Western text as a NUL in every other byte."""
    pairs = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if pairs and odd >= pairs * 0.4 and even <= pairs * 0.02:
        return "utf-16-le"
    if pairs and even >= pairs * 0.4 and odd <= pairs * 0.02:
        return "utf-16-be"
    return ""


def _damaged(content: bytes) -> Decoded:
    """Not valid UTF-8: either UTF-8 with a few bad bytes, or an older Western encoding."""
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
