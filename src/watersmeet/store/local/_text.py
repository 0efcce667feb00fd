"""Text fields and query terms, shared by the text stores."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.ports import Term
from watersmeet.core.tokens import MAX_FORM_LENGTH, MAX_WORD_LENGTH

WORD_FIELDS = ("body", "title", "headings", "names", "tags")
"""Fields searched by stemmed word, without stop words."""

EXACT_FIELD = "forms"
"""The field searched by exact identifier."""

FIELDS = (*WORD_FIELDS, EXACT_FIELD)

REBUILD = "build it anew with `watersmeet sync --recreate`"
REMAKE_HINT = "`watersmeet sync PATH` makes it again"
MAKE_ROOM = "make room and run the same command again; nothing was lost"

MAX_TOKEN_LENGTH = 8 * max(MAX_WORD_LENGTH, MAX_FORM_LENGTH)
"""No tokenizer makes a longer token, so longer ones are not searched: engines cut or refuse them differently."""

LENGTHS = [n if n < 32 else 24 + ((n & 7 | 8) << (n - 32 >> 3)) for n in range(256)]
"""Lengths of a field that tantivy can store, in one byte."""


def kept_length(length: int) -> int:
    """The length as tantivy stores it: rounded down to the next possible one."""
    return LENGTHS[bisect_right(LENGTHS, length) - 1]


def checked_field(field: str) -> str:
    if field not in FIELDS:
        raise ConfigError(f"there is no text field {field!r}", nearest(field, FIELDS))
    return field


def plain(text: str) -> str:
    """Text that every engine can store: without NUL and lone surrogates."""
    if text.isascii():
        return text.replace("\0", "?")
    return text.replace("\0", "?").encode("utf-8", "replace").decode()


def distinct(terms: Iterable[Term], analyse: Callable[[str, str], str]) -> dict[tuple[str, str, bool], Term]:
    """Distinct terms by field and the token of `analyse(field, text)`; the highest boost wins.

    Terms without weight and stop words are left out.
    """
    found: dict[tuple[str, str, bool], Term] = {}
    for term in terms:
        token = analyse(checked_field(term.field), term.text)
        key = (term.field, token, term.constant)
        if token and term.boost > 0 and (key not in found or found[key].boost < term.boost):
            found[key] = term
    return found


def disk_full(folder: str) -> bool:
    """Whether the disk is full; engines do not always report that."""
    from shutil import disk_usage  # needed only after an error

    try:
        return disk_usage(folder).free < 1 << 16
    except OSError:
        return False
