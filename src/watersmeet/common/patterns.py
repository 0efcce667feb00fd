"""Regular expressions in linear time: does a pattern occur in a text, whatever the case?

RE2 matches (https://github.com/google/re2/wiki/Syntax). A pattern may come from a stranger's folder: no text takes
more than linear time, and no pattern more than `MEMORY`. What RE2 cannot do is refused with a reason: backreferences,
looking ahead or behind, possessive parts. `\\w` and `\\d` mean letters and digits of any script, as in Python;
`\\s` and `\\b` know ASCII alone.
"""

from __future__ import annotations

import re
from typing import Any

MEMORY = 2_000_000
"""Bytes for one pattern: the program, and what RE2 remembers of the texts."""

LONGEST = 10_000
"""Characters of a pattern: reading one takes time and memory before RE2 counts it."""

_WORD, _DIGIT = r"\pL\pM\pN_", r"\p{Nd}"
_PARTS = re.compile(r"\\.|\{,\d+\}|\[\^?\]?|\[:\w+:\]|.", re.DOTALL)


class BadPattern(ValueError):
    """Not a pattern, or not one that can be matched in linear time."""


class Regular:
    """A compiled pattern. Threads may share it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._matcher = compiled(_any_script(pattern), any_case=True)

    def occurs_in(self, text: str) -> bool:
        return self._matcher.search(encoded(text)) is not None


def _any_script(pattern: str) -> str:
    """The pattern with `\\w` and `\\d` written out: RE2's own know ASCII alone."""
    parts, in_class = [], False
    for part in _PARTS.findall(pattern):
        if part in (r"\w", r"\d"):
            inner = _WORD if part == r"\w" else _DIGIT
            part = inner if in_class else f"[{inner}]"
        elif part in (r"\W", r"\D") and not in_class:
            part = f"[^{_WORD if part == chr(92) + 'W' else _DIGIT}]"
        elif part in (r"\b", r"\B") and not pattern.isascii():
            raise BadPattern(r"\b and \B know ASCII letters alone: write (?:^|\PL) and (?:\PL|$) around other scripts")
        elif part.startswith("{,") and not in_class:
            raise BadPattern("a repetition needs its least number: write {0,2}, not {,2}")
        elif part.startswith("[") and not in_class:
            in_class = True
        elif part == "]":
            in_class = False
        parts.append(part)
    return "".join(parts)


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
