"""Words and section of a passage, for rules that read the text of results and for judgements on sections."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.core.model import Passage, Result
from watersmeet.core.tokens import words as words_of

_LEVELS = " > "


def passage_text(passage: Passage) -> str:
    """Title, headings and text. The text of a virtual server is left out: not everyone may see all of its tools."""
    return "\n".join((passage.title, *passage.headings, _text(passage)))


def passage_words(passage: Passage) -> list[str]:
    """Words of `passage_text`, in order."""
    return words_of(passage_text(passage))


def has_word(passage: Passage, word: str) -> bool:
    """Whether it is one of `passage_words`. No word reaches across white space: only pieces that have its letters are
    read."""
    text = passage_text(passage)
    if not word or not text.isascii():
        return word in words_of(text)
    lowered, end = text.lower(), 0
    while (place := lowered.find(word, end)) >= 0:
        start = end = place
        while start and not text[start - 1].isspace():
            start -= 1
        while end < len(text) and not text[end].isspace():
            end += 1
        if word in words_of(text[start:end]):
            return True
    return "_" in text and word in lowered.replace("_", "") and word in words_of(text)  # get_user has getuser


def has_phrase(passage: Passage, phrase: Sequence[str]) -> bool:
    """Whether the words follow one another in the title, in a heading or in the text."""
    wanted = f" {' '.join(phrase)} "
    parts = (passage.title, *passage.headings, _text(passage))
    return any(wanted in f" {' '.join(words_of(part))} " for part in parts)


def section_name(passage: Passage | Result) -> str:
    """Name of the section that a passage begins with: `document#heading > heading`."""
    return f"{passage.document}#{_LEVELS.join(passage.headings)}"


def in_section(passage: Passage | Result, name: str) -> bool:
    """Whether the passage has the text of a section, or a piece of it, named `document#heading > heading`.

    Higher headings may be left out; without any, it is the text before the first heading. A small section shares the
    passage of its parent, where its heading is a line.
    """
    if not name.startswith(f"{passage.document}#"):
        return False
    path = _words_of_each(name.removeprefix(f"{passage.document}#").split(_LEVELS))
    own = _words_of_each(passage.headings)
    if not any(path):
        return not own
    if path == own[-len(path) :]:
        return True
    lines = _words_of_each(passage.text.split("\n"))
    return path[-1] in lines and all(one in own or one in lines for one in path[:-1])


def _words_of_each(texts: Sequence[str]) -> list[list[str]]:
    return [words_of(text) for text in texts]


def _text(passage: Passage) -> str:
    if passage.kind == "document":
        return passage.text
    from watersmeet.core.entities import VIRTUAL  # lazy: slow to import

    return "" if passage.kind == VIRTUAL else passage.text
