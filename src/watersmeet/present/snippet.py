"""The lines of a passage that say why it was found."""

from __future__ import annotations

from watersmeet.core.tokens import ASKING, words

LINES = 3
WIDTH = 160


def snippet(text: str, query: str, width: int = WIDTH) -> list[str]:
    """Up to three lines that follow one another and share most with the query; each at most `width` characters.

    Lines that say nothing (blank, a fence, a rule) are left out. Of equally good places the first is taken, and
    the line that shares most stands in the middle of it, so that it can be understood.
    """
    wanted = _stems(words(query)) - _stems(ASKING)
    lines = [line for line in text.splitlines() if _says_something(line)]
    if not lines:
        return []
    shared = [wanted & _stems(words(line)) for line in lines]
    starts = range(max(1, len(lines) - LINES + 1))
    start = max(starts, key=lambda i: (*_worth(lines[i : i + LINES], shared[i : i + LINES]), -i))
    found = lines[start : start + LINES]
    while len(found) > 1 and found[-1].lstrip().startswith("#") and not shared[start + len(found) - 1]:
        found.pop()  # a heading of what is not shown
    return [_cut(line, wanted, width) for line in found]


def _worth(lines: list[str], shared: list[set[str]]) -> tuple[int, int, bool, int]:
    """Different words first, then how often; the best line not at the edge; headings show little."""
    best = max(range(len(shared)), key=lambda i: (len(shared[i]), -i))
    headings = sum(line.lstrip().startswith("#") for line in lines)
    return len(set().union(*shared)), sum(map(len, shared)), 0 < best < LINES - 1, -headings


def _says_something(line: str) -> bool:
    plain = line.strip()
    return any(character.isalnum() for character in plain) and not plain.startswith(("```", "~~~"))


def _stems(found: object) -> set[str]:
    """Words without the commonest endings: enough to tell that two lines speak of the same thing."""
    raise NotImplementedError


def _cut(line: str, wanted: set[str], width: int) -> str:
    raise NotImplementedError
