"""Lines of keys in a JSON or YAML text, found by going through it once, in the order of the parsed values."""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.core.documents import Block, Section
from watersmeet.core.place import NOWHERE, Place

_MAX_TRIES = 1_000
_MAX_MISSES = 20
"""Keys that are not found, and places where one occurs as something else, before lines are given up."""
FIRST_LINE = Place((1, 1))
_BEFORE = " \t\"'-{,?"
_KEY_ENDS = (":", '":', "':", '" :')


class KeyLines:
    """Finds keys one after the other. A key that is not found, because it is written otherwise, has no line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._misses = 0

    def restart(self) -> None:
        """Look from the beginning again: sections need not be in the order of the file."""
        self._at, self._line = 0, 1

    def key(self, name: str) -> Place:
        """Place of the next key of this name."""
        return self._find(name, is_key=True)

    def value(self, name: str) -> Place:
        """Place of the next value that is this text."""
        return self._find(name, is_key=False)

    def _find(self, name: str, is_key: bool) -> Place:
        text, at = self._text, self._at
        if not name or self._misses > _MAX_MISSES:
            return NOWHERE
        for _ in range(_MAX_TRIES):
            found = text.find(name, at)
            if found < 0:
                break
            end = found + len(name)
            if self._is_key(found, end) if is_key else self._is_value(found, end):
                self._line += text.count("\n", self._at, found)
                self._at = end
                return Place((self._line, self._line))
            at = end
        self._misses += 1
        return NOWHERE

    def _is_key(self, start: int, end: int) -> bool:
        """Whether this is a key: first in its line, or after a bracket or a comma."""
        if not self._text.startswith(_KEY_ENDS, end):
            return False
        before = self._text[max(0, start - 100) : start].rpartition("\n")[2]
        return not before.strip(_BEFORE) or before.rstrip("\"' ")[-1:] in ("{", ",")

    def _is_value(self, start: int, end: int) -> bool:
        before = self._text[max(0, start - 20) : start].rstrip(" \t\"'")
        return before.endswith(":") and self._text[end : end + 1] in ("", "\n", "\r", '"', "'", ",", "}", " ")


def section(headings: tuple[str, ...], level: int, place: Place, texts: Iterable[str]) -> Section:
    """A section of these blocks, all at the line of its key."""
    return Section(headings, level, place, tuple(Block(text, place) for text in texts if text))
