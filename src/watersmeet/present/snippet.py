"""The lines of a passage that say why it was found."""

from __future__ import annotations

import re
from collections.abc import Iterable

from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.core.word_endings import stem

LINES = 3
WIDTH = 160
_FENCES = ("```", "~~~")
_BEGINS = re.compile(r"[-*+>#|]|\d+[.)]\s")


def snippet(text: str, query: str, width: int = WIDTH) -> list[str]:
    """Up to three lines that follow one another and share most with the query; each at most `width` characters.

    Lines that say nothing (blank, a fence, a rule) are left out. Of equally good places the first is taken, and
    the line that shares most stands in the middle of it, so that it can be understood.
    """
    wanted = _stems(word for word in words(query) if word not in QUESTION_WORDS)
    lines, goes_on = _lines(text)
    if not lines:
        return []
    shared = [wanted & _stems(words(line)) for line in lines]
    starts = range(max(1, len(lines) - LINES + 1) if any(shared) else 1)
    start = max(starts, key=lambda i: (*_worth(lines[i : i + LINES], shared[i : i + LINES]), -i))
    end = min(start + LINES, len(lines))
    if goes_on[start]:  # with what is not shown: rather from where something begins, if nothing is lost by it
        first = next((i for i in range(start, end) if shared[i]), start)
        start = next((i for i in range(start, first + 1) if not goes_on[i]), start)
    found = lines[start:end]
    while len(found) > 1 and found[-1].lstrip().startswith("#") and not shared[start + len(found) - 1]:
        found.pop()  # a heading of what is not shown
    return [cut(line, wanted, width) for line in found]


def _worth(lines: list[str], shared: list[set[str]]) -> tuple[int, int, bool, int]:
    """Different words first, then how often; the best line not at the edge; headings show little."""
    best = max(range(len(shared)), key=lambda i: (len(shared[i]), -i))
    headings = sum(line.lstrip().startswith("#") for line in lines)
    return len(set().union(*shared)), sum(map(len, shared)), 0 < best < LINES - 1, -headings


def _lines(text: str) -> tuple[list[str], list[bool]]:
    """The lines that say something, and which of them go on with a sentence from the line before."""
    found, goes_on, code, running = [], [], False, False
    for line in text.splitlines():
        plain = line.strip()
        code ^= plain.startswith(_FENCES)
        if _says_something(line):
            found.append(line)
            goes_on.append(running and not code and not _BEGINS.match(plain))
        running = bool(plain) and not plain.startswith(("#", *_FENCES))
    return found, goes_on


def _says_something(line: str) -> bool:
    plain = line.strip()
    return any(character.isalnum() for character in plain) and not plain.startswith(_FENCES)


def _stems(found: Iterable[str]) -> set[str]:
    """Words without the commonest endings: enough to tell that two lines speak of the same thing."""
    return {stem(word) for word in found}


def cut(line: str, wanted: set[str], width: int) -> str:
    """A long line around the first word that was asked for, cut between words where there are any."""
    line = line.rstrip().expandtabs(4)
    if len(line) <= width:
        return line
    low = line.casefold()
    first = min((at for at in (low.find(word) for word in wanted) if at >= 0), default=0)
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
