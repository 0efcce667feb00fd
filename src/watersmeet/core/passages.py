"""Words of a passage, for rules that read the text of results."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.core.model import Passage
from watersmeet.core.tokens import words as words_of


def passage_text(passage: Passage) -> str:
    """Title, headings and text. The text of a virtual server is left out: not everyone may see all of its tools."""
    return "\n".join((passage.title, *passage.headings, _text(passage)))


def passage_words(passage: Passage) -> list[str]:
    """Words of `passage_text`, in order."""
    return words_of(passage_text(passage))


def has_phrase(passage: Passage, phrase: Sequence[str]) -> bool:
    """Whether the words follow one another in the title, in a heading or in the text."""
    wanted = f" {' '.join(phrase)} "
    parts = (passage.title, *passage.headings, _text(passage))
    return any(wanted in f" {' '.join(words_of(part))} " for part in parts)


def _text(passage: Passage) -> str:
    if passage.kind == "document":
        return passage.text
    from watersmeet.core.entities import VIRTUAL  # lazy: slow to import

    return "" if passage.kind == VIRTUAL else passage.text
