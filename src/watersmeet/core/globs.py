"""Wildcards over paths, in linear time per star: what a user writes never reaches a regex engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glob:
    """`*` and `?` stay within a folder, `**` crosses folders; without a slash it matches the base name."""

    pattern: str

    def matches(self, path: str) -> bool:
        pattern = self.pattern.strip("/")
        if "/" not in pattern:
            return wild(pattern, path) if "/" not in path else wild(pattern, path.rsplit("/", 1)[1])
        return _segments(pattern.split("/"), path.split("/"))


def _segments(patterns: list[str], parts: list[str]) -> bool:
    """Match folder by folder; `**` takes any number of them. The usual table, row by row."""
    row = [True] + [False] * len(parts)
    for pattern in patterns:
        if pattern == "**":
            for i in range(1, len(row)):
                row[i] = row[i] or row[i - 1]
            continue
        row = [False, *(row[i] and wild(pattern, part) for i, part in enumerate(parts))]
    return row[-1]


def wild(pattern: str, text: str) -> bool:
    """`*` is any run of characters, `?` any one. Backs up to the last star only: no blow-up."""
    p = t = 0
    star = mark = -1
    while t < len(text):
        if p < len(pattern) and pattern[p] == "*":
            star, mark = p, t
            p += 1
        elif p < len(pattern) and pattern[p] in ("?", text[t]):
            p += 1
            t += 1
        elif star >= 0:
            mark += 1
            p, t = star + 1, mark
        else:
            return False
    return all(c == "*" for c in pattern[p:])
