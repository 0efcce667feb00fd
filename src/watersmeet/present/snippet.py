"""The lines of a passage that say why it was found."""

from __future__ import annotations

from watersmeet.core.tokens import ASKING, words

LINES = 3
WIDTH = 160


def snippet(text: str, query: str) -> list[str]:
    """Up to three lines around the one that shares most with the query."""
    wanted = set(words(query)) - ASKING
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    shared = [len(wanted.intersection(words(line))) for line in lines]
    best = max(range(len(lines)), key=lambda i: (shared[i], -i))
    start = max(0, min(best - 1, len(lines) - LINES)) if best else 0
    return [_cut(line, wanted) for line in lines[start : start + LINES]]


def _cut(line: str, wanted: set[str]) -> str:
    """A long line around the first word that was asked for."""
    if len(line) <= WIDTH:
        return line
    low = line.casefold()
    places = [place for place in (low.find(word) for word in wanted) if place >= 0]
    start = max(0, min(places, default=0) - WIDTH // 3)
    cut = line[start : start + WIDTH]
    return ("… " if start else "") + cut + (" …" if start + WIDTH < len(line) else "")
