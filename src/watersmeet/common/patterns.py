"""Regular expressions in linear time, ignoring case.

They are RE2's (https://github.com/google/re2/wiki/Syntax). A pattern may come from an untrusted folder: matching takes
linear time, and a pattern at most `MEMORY`. What RE2 does not support is an error with a reason: backreferences,
lookahead, lookbehind, possessive quantifiers. `\\w` and `\\d` match letters and digits of any script, as in Python;
`\\s` and `\\b` know ASCII only.
"""

from __future__ import annotations

import re
from typing import Any

MEMORY = 2_000_000
"""Memory of one pattern in bytes: the compiled program and RE2's cache of states."""

MAX_PATTERN_LENGTH = 10_000
"""Characters of a pattern: parsing takes time and memory that RE2 does not limit."""

_WORD, _DIGIT = r"\pL\pM\pN_", r"\p{Nd}"
_PARTS = re.compile(r"\\.|\{,\d+\}|\[\^?\]?|\[:\w+:\]|.", re.DOTALL)


class BadPattern(ValueError):
    """An invalid pattern, or one that cannot be matched in linear time."""


class Regular:
    """A compiled pattern. Threads may share it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._matcher = compiled(_any_script(pattern), any_case=True)

    def occurs_in(self, text: str) -> bool:
        return self._matcher.search(encoded(text)) is not None


def _any_script(pattern: str) -> str:
    """The pattern with `\\w` and `\\d` as Unicode classes: RE2's own know ASCII only."""
    parts, in_class = [], False
    for part in _PARTS.findall(pattern):
        if part in (r"\w", r"\d"):
            inner = _WORD if part == r"\w" else _DIGIT
            part = inner if in_class else f"[{inner}]"
        elif part in (r"\W", r"\D") and not in_class:
            part = f"[^{_WORD if part == chr(92) + 'W' else _DIGIT}]"
        elif part in (r"\b", r"\B") and not pattern.isascii():
            raise BadPattern(
                r"\b and \B work for ASCII letters only: write (?:^|\PL) and (?:\PL|$) around other scripts"
            )
        elif part.startswith("{,") and not in_class:
            raise BadPattern("a repetition needs a minimum: write {0,2}, not {,2}")
        elif part.startswith("[") and not in_class:
            in_class = True
        elif part == "]":
            in_class = False
        parts.append(part)
    return "".join(parts)


def compiled(expression: str, any_case: bool = False, memory: int = MEMORY) -> Any:
    """Compiled RE2 pattern for encoded texts."""
    if len(expression) > MAX_PATTERN_LENGTH:
        raise BadPattern(f"the pattern is longer than {MAX_PATTERN_LENGTH} characters")
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
            reason += "; backreferences, lookahead, lookbehind and possessive quantifiers are not supported"
        raise BadPattern(reason) from None


def encoded(text: str) -> bytes:
    """UTF-8 bytes; the surrogates of a file name that is not UTF-8 stay single characters."""
    return text.encode("utf8", "surrogatepass")
