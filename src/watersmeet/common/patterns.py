"""Regular expressions in linear time: does a pattern occur in a text, whatever the case?

RE2 matches (https://github.com/google/re2/wiki/Syntax). A pattern may come from a stranger's folder: no text takes
more than linear time, and no pattern more than `MEMORY`. What RE2 cannot do is refused with a reason: backreferences,
looking ahead or behind, possessive parts. `\\d \\w \\s \\b` know ASCII alone; `\\pL` is a letter of any script, `\\pN`
a number.
"""

from __future__ import annotations

import re
from typing import Any

MEMORY = 2_000_000
"""Bytes for one pattern: the program, and what RE2 remembers of the texts."""

LONGEST = 10_000
"""Characters of a pattern: reading one takes time and memory before RE2 counts it."""

_BOUNDARY = re.compile(r"(?<!\\)(?:\\\\)*\\[bB]")
_NO_LEAST = re.compile(r"(?<!\\)(?:\\\\)*\{,\d+\}")


class BadPattern(ValueError):
    """Not a pattern, or not one that can be matched in linear time."""


class Regular:
    """A compiled pattern. Threads may share it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        if not pattern.isascii() and _BOUNDARY.search(pattern):
            raise BadPattern(r"\b and \B know ASCII letters alone: write (?:^|\PL) and (?:\PL|$) around other scripts")
        if _NO_LEAST.search(pattern):
            raise BadPattern("a repetition needs its least number: write {0,2}, not {,2}")
        self._matcher = compiled(pattern, any_case=True)

    def occurs_in(self, text: str) -> bool:
        return self._matcher.search(encoded(text)) is not None


def compiled(expression: str, any_case: bool = False, memory: int = MEMORY) -> Any:
    """RE2's pattern for encoded texts."""
    if len(expression) > LONGEST:
        raise BadPattern(f"the pattern is longer than {LONGEST} characters")
    import re2  # most commands compile no pattern

    options = re2.Options()
    options.max_mem = memory
    options.case_sensitive = not any_case
    options.never_capture = True
    options.log_errors = False
    try:
        return re2.compile(encoded(expression), options)
    except re2.error as problem:
        reason = problem.args[0].decode("utf8", "replace")
        if reason.startswith(("invalid escape", "invalid perl", "bad repetition")):
            reason += "; matching is linear in time: no backreferences, no looking ahead or behind, nothing possessive"
        raise BadPattern(reason) from None


def encoded(text: str) -> bytes:
    """UTF-8; a name on disk that is not UTF-8 has surrogates, and they stay single characters."""
    return text.encode("utf8", "surrogatepass")
