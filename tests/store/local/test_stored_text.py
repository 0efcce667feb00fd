"""Texts of chunks are compressed in the catalogue where that pays, and come back as they were."""

from __future__ import annotations

import os
import sqlite3
from zlib import compressobj

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.store.local._stored_text import plain_text, stored_text, text_size


def as_blob(stored: str | bytes) -> bytes:
    """As SQLite casts a column to a BLOB."""
    return stored if isinstance(stored, bytes) else stored.encode()


@given(st.text(max_size=600), st.integers(1, 5))
def test_a_text_comes_back(text: str, times: int) -> None:
    stored = as_blob(stored_text(text * times))
    assert plain_text(stored) == (text * times).encode()
    assert text_size(stored) == len((text * times).encode())
    assert len(stored) <= len((text * times).encode())


def test_long_texts_are_smaller_and_short_ones_stay_text() -> None:
    text = "To rotate the keys of a server you stop it, make new ones, and start it again. " * 12
    assert len(stored_text(text)) < len(text) / 2
    assert stored_text("a short one") == "a short one"
    noise = os.urandom(300).hex()[:300]
    assert stored_text(noise) == noise or len(stored_text(noise)) < len(noise)


def test_nothing_is_nothing() -> None:
    assert plain_text(None) is None
    assert plain_text(b"") == b""
    assert text_size(None) == text_size(b"") == 0


@pytest.mark.parametrize("at", [0, 1, 4, 5, 9, 40, -1])
def test_damage_gives_no_text_or_another_of_the_stated_size(at: int) -> None:
    stored = bytearray(as_blob(stored_text("all work and no play makes the index a dull boy " * 20)))
    stored[at] ^= 0x20
    found = plain_text(bytes(stored))
    assert found is None or len(found) == text_size(bytes(stored))


def test_a_small_value_does_not_become_a_large_one() -> None:
    """A stranger's catalogue may say any size: no more than that is inflated, and no less is accepted."""
    stored = as_blob(stored_text("x" * 1_000_000))
    assert len(stored) < 5_000
    small = stored[:1] + (10).to_bytes(4, "little") + stored[5:]
    large = stored[:1] + (2**32 - 1).to_bytes(4, "little") + stored[5:]
    assert stored_text("x" * 2_000_000) == "x" * 2_000_000
    honest = compressobj(3, wbits=-13)
    bomb = b"\xff" + (2_000_000).to_bytes(4, "little") + honest.compress(b"x" * 2_000_000) + honest.flush()
    assert plain_text(bomb) is None
    assert plain_text(small) is None or len(plain_text(small) or b"") <= 10
    assert plain_text(large) is None


def test_damaged_utf_8_is_for_others_to_report() -> None:
    db = sqlite3.connect(":memory:")
    db.create_function("plain_text", 1, plain_text, deterministic=True)
    assert db.execute("SELECT plain_text(CAST(CAST(x'66ff' AS TEXT) AS BLOB))").fetchone() == (b"f\xff",)
