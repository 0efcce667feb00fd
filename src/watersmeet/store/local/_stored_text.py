"""Texts of chunks as the catalogue stores them: compressed, if that makes them smaller.

A compressed one is a BLOB: a byte that begins no UTF-8 text, the size of the text, and the text deflated. Checksums are
those of the plain text, so rows of both forms, also in one index, are checked alike.
"""

from __future__ import annotations

import sqlite3
from zlib import compressobj, decompressobj
from zlib import error as ZlibError

PLAIN = "CAST(plain_text(CAST({0}text AS BLOB)) AS TEXT)"
"""The column `text` as it was given to `stored_text`, for a connection with these functions."""
_MARK, _HEADER = 0xFF, 5
_LEAST = 256
"""Shorter texts, in bytes, stay as they are: little would be saved."""
_MOST = 1 << 20
"""Longer ones too: a small value in a stranger's catalogue must not become gigabytes."""
_RAW = -13
"""Raw deflate with a window of 8 KB: there is no header, and the text's own checksum follows the row's hash."""
_LEVEL = 3


def add_functions(db: sqlite3.Connection) -> None:
    db.create_function("plain_text", 1, plain_text, deterministic=True)
    db.create_function("text_size", 1, text_size, deterministic=True)


def stored_text(text: str) -> str | bytes:
    """What to store for a text."""
    plain = text.encode()
    if not _LEAST <= len(plain) <= _MOST:
        return text
    made = compressobj(_LEVEL, wbits=_RAW)
    small = b"".join((bytes((_MARK,)), len(plain).to_bytes(4, "little"), made.compress(plain), made.flush()))
    return small if len(small) < len(plain) else text


def plain_text(stored: bytes | None) -> bytes | None:
    """The text of what is stored, in UTF-8; None if it is damaged, or says that it is longer than any."""
    if not stored or stored[0] != _MARK:
        return stored
    size = text_size(stored)
    if size > _MOST:
        return None
    try:
        text = decompressobj(_RAW).decompress(stored[_HEADER:], size or 1)
    except ZlibError:
        return None
    return text if len(text) == size else None


def text_size(stored: bytes | None) -> int:
    """The size in bytes of the text of what is stored."""
    if not stored or stored[0] != _MARK:
        return len(stored or b"")
    return int.from_bytes(stored[1:_HEADER], "little")
