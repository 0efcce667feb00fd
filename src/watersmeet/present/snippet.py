"""Snippets: the lines of a passage that match the query."""

from __future__ import annotations

import re
from collections.abc import Iterable

from watersmeet.common.stems import stems as stems_of
from watersmeet.core.tokens import QUESTION_WORDS, words

LINES = 3
WIDTH = 160
_FENCES = ("```", "~~~")
_BEGINS = re.compile(r"[-*+>#|]|\d+[.)]\s")


def snippet(text: str, query: str, width: int = WIDTH) -> list[str]:
    """Up to three consecutive lines that share most with the query; each at most `width` characters.

    Lines without words (blank, a fence, a rule) are left out. Of equally good windows the first is taken, preferably
    with the best line in the middle.
    """
    stems = _stems(word for word in words(query) if word not in QUESTION_WORDS)
    lines, continues = _lines(text)
    if not lines:
        return []
    shared = [stems & _stems(words(line)) for line in lines]
    starts = range(max(1, len(lines) - LINES + 1) if any(shared) else 1)
    start = max(starts, key=lambda i: (*_window_rank(lines[i : i + LINES], shared[i : i + LINES]), -i))
    end = min(start + LINES, len(lines))
    if continues[start]:  # it starts inside a sentence: start later, if no match is lost
        first = next((i for i in range(start, end) if shared[i]), start)
        start = next((i for i in range(start, first + 1) if not continues[i]), start)
    found = lines[start:end]
    while len(found) > 1 and found[-1].lstrip().startswith("#") and not shared[start + len(found) - 1]:
        found.pop()  # a heading whose text is not shown
    return [cut(line, stems, width) for line in found]


def _window_rank(lines: list[str], shared: list[set[str]]) -> tuple[int, int, bool, int]:
    """Rank of a window: distinct words, then matches, then the best line in the middle, then few headings."""
    best = max(range(len(shared)), key=lambda i: (len(shared[i]), -i))
    headings = sum(line.lstrip().startswith("#") for line in lines)
    return len(set().union(*shared)), sum(map(len, shared)), 0 < best < LINES - 1, -headings


def _lines(text: str) -> tuple[list[str], list[bool]]:
    """Lines with words, and whether each continues a sentence of the line before."""
    found, continues, code, running = [], [], False, False
    for line in text.splitlines():
        plain = line.strip()
        code ^= plain.startswith(_FENCES)
        if _has_words(line):
            found.append(line)
            continues.append(running and not code and not _BEGINS.match(plain))
        running = bool(plain) and not plain.startswith(("#", *_FENCES))
    return found, continues


def _has_words(line: str) -> bool:
    plain = line.strip()
    return any(character.isalnum() for character in plain) and not plain.startswith(_FENCES)


def _stems(found: Iterable[str]) -> set[str]:
    """Stems of words."""
    return set(stems_of(list(found)))


def cut(line: str, stems: set[str], width: int) -> str:
    """A long line cut to `width` around the first matching word, between words if possible."""
    line = line.rstrip().expandtabs(4)
    if len(line) <= width:
        return line
    low = line.casefold()
    starts = (low.find(stem.removesuffix("i")) for stem in stems)  # easi is the stem of easy
    first = min((at for at in starts if at >= 0), default=0)
    start = 0
    if first > width * 2 // 3:
        start = min(first - width // 3, len(line) - width + 2)
        start = line.find(" ", start, first) + 1 or start
    room = width - 2 * (start > 0)
    if len(line) - start <= room:
        return f"… {line[start:]}"
    end = start + room - 2
    end = max(line.rfind(" ", start + room // 2, end + 1), 0) or end
    return ("… " if start else "") + line[start:end].rstrip() + " …"
