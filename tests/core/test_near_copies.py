"""Near copies: what they are copies of, and what is no copy."""

from __future__ import annotations

from typing import NamedTuple

from watersmeet.core.model import ChunkId
from watersmeet.core.near_copies import near_copies

LONG = "Unpack the archive, run the installer as root and wait until the lamp at the front turns green."


class Text(NamedTuple):
    id: ChunkId
    text: str
    title: str = "Install"
    headings: tuple[str, ...] = ()


def copies(*texts: Text | str, **options: float) -> dict[str, str]:
    made = [Text(ChunkId(str(n)), one) if isinstance(one, str) else one for n, one in enumerate(texts)]
    return {str(copy): str(kept) for copy, kept in near_copies(made, **options).items()}


def test_a_copy_names_the_first_that_it_repeats() -> None:
    assert copies(LONG, "Something else.", LONG.upper(), LONG.replace("green", "blue")) == {"2": "0", "3": "0"}
    assert copies(LONG, LONG.replace("green", "blue"), min_similarity=0.99) == {}
    assert copies() == {}


def test_pages_that_differ_in_an_identifier_are_no_copies() -> None:
    assert copies(Text(ChunkId("a"), LONG, "Region D40"), Text(ChunkId("b"), LONG, "Region D41")) == {}
    assert copies(Text(ChunkId("a"), LONG, "One"), Text(ChunkId("b"), LONG, "Two")) == {"b": "a"}


def test_short_texts_are_compared_with_their_titles() -> None:
    assert copies(Text(ChunkId("a"), "See above."), Text(ChunkId("b"), "See above.", "Other things")) == {}
    assert copies(Text(ChunkId("a"), "See above."), Text(ChunkId("b"), "See above.")) == {"b": "a"}
