"""What the text stores share: their fields, and what a list of terms comes down to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.ports import Term
from watersmeet.core.tokens import MAX_FORM_LENGTH, MAX_WORD_LENGTH

WORD_FIELDS = ("body", "title", "headings", "names", "tags")
"""Searched by word: without stop words, and by stem."""

EXACT_FIELD = "forms"
"""Searched by identifier: as it is written."""

FIELDS = (*WORD_FIELDS, EXACT_FIELD)

REBUILD = "build it anew with `watersmeet sync --recreate`"
AGAIN = "`watersmeet sync PATH` makes it again"
MAKE_ROOM = "make room and run the same command again; nothing was lost"

LONGEST = 8 * max(MAX_WORD_LENGTH, MAX_FORM_LENGTH)
"""No tokenizer makes a longer token, so none is looked for: engines cut or refuse them in their own ways."""


def known(field: str) -> str:
    if field not in FIELDS:
        raise ConfigError(f"there is no text field {field!r}", nearest(field, FIELDS))
    return field


def plain(text: str) -> str:
    """The text in what every engine can hold: no NUL, no half of a character."""
    if text.isascii():
        return text.replace("\0", "?")
    return text.replace("\0", "?").encode("utf-8", "replace").decode()


def distinct(terms: Iterable[Term], analyse: Callable[[str, str], str]) -> dict[tuple[str, str, bool], Term]:
    """Each term once, by its field and what `analyse(field, text)` makes of it; the highest boost counts.

    What has no weight or is nothing to look for (a stop word) is left out.
    """
    found: dict[tuple[str, str, bool], Term] = {}
    for term in terms:
        token = analyse(known(term.field), term.text)
        key = (term.field, token, term.constant)
        if token and term.boost > 0 and (key not in found or found[key].boost < term.boost):
            found[key] = term
    return found


def disk_full(folder: str) -> bool:
    """Engines that ran out of space do not always say so: look at the disk itself."""
    from shutil import disk_usage  # only where something went wrong

    try:
        return disk_usage(folder).free < 1 << 16
    except OSError:
        return False
