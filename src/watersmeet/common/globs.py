"""Glob patterns by git's rules, for .gitignore files and for the include and exclude settings.

`*`, `?` and `[a-z]` do not match a slash, `**` between slashes does; a backslash escapes the next character.
A pattern without a slash is matched against the last part of a path, any other against the whole path.

Patterns are parsed here, since pathspec differs from git in brackets and stars, and matched by RE2 in linear time,
however hostile they are. A pattern that is too large for RE2 (`MEMORY`, `patterns.MAX_PATTERN_LENGTH`) matches nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from watersmeet.core.lazy_dataclass import dataclass

MEMORY = 256_000
"""Memory of one compiled pattern in bytes: enough for some hundred wildcards."""

_STAR = "[^/]*"
_DEEP = ".*"
_FOLDERS = "(?:.*/)?"  # `**/` also matches no folder
_ONE = "[^/]"
_NONE = r"[^\x{0}-\x{10ffff}]"

_SPECIAL = "*?[\\"
_CLASSES = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "blank": ("  ", "\t\t"),
    "cntrl": ("\x00\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("  ", "\t\r"),
    "upper": ("AZ",),
    "xdigit": ("09", "AF", "af"),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pattern:
    """One line of a .gitignore, or one glob."""

    test: Callable[[str], bool]
    literal: str  # the exact text, if it has no wildcard
    by_name: bool
    folders_only: bool
    negated: bool

    def matches(self, name: str, path: str, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.test(name if self.by_name else path)


def pattern(text: str, may_negate: bool = True) -> Pattern | None:
    """Parse a line; None if it cannot match anything."""
    negated = may_negate and text.startswith("!")
    if negated:
        text = text[1:]
    folders_only = text.endswith("/")
    if folders_only:
        text = text[:-1]
    by_name = "/" not in text
    text = text.removeprefix("/")
    if not text:
        return None
    wildcard = _first_special(text)
    if wildcard == len(text):
        return Pattern(text.__eq__, text, by_name, folders_only, negated)
    rest = text[1:]
    if by_name and text[0] == "*" and _first_special(rest) == len(rest):
        return Pattern(lambda name: name.endswith(rest), "", by_name, folders_only, negated)
    from watersmeet.common.patterns import BadPattern, compiled, encoded  # lazy: few commands compile a pattern

    expression = _expression(text, wildcard)
    try:
        matcher = None if expression is None else compiled(f"(?s){expression}", memory=MEMORY)
    except BadPattern:
        return None
    if matcher is None:
        return None
    head = text[:wildcard]

    def test(path: str) -> bool:
        return path.startswith(head) and matcher.fullmatch(encoded(path)) is not None

    return Pattern(test, "", by_name, folders_only, negated)


def _first_special(text: str) -> int:
    return min((at for at in map(text.find, _SPECIAL) if at >= 0), default=len(text))


def _expression(text: str, start: int) -> str | None:
    """RE2 expression of a pattern whose first wildcard is at `start`; None if a bracket or an escape is incomplete."""
    found = [_literal(character) for character in text[:start]]
    at = start
    while at < len(text):
        character = text[at]
        if character == "*":
            end = at
            while end < len(text) and text[end] == "*":
                end += 1
            # Git drops the literal beginning of a pattern before it looks at the character in front of the stars.
            free = at == start or text[at - 1] == "/"
            if end - at == 1 or not free or not (end == len(text) or text.startswith(("/", "\\/"), end)):
                found.append(_STAR)
            elif text.startswith("/", end):
                if found[-1:] != [_FOLDERS]:
                    found.append(_FOLDERS)
                end += 1
            else:
                found.append(_DEEP)
            at = end
        elif character == "[":
            bracket = _bracket(text, at + 1)
            if bracket is None:
                return None
            part, at = bracket
            found.append(part)
        else:
            if character == "\\":
                at += 1
                if at == len(text):
                    return None
            found.append(_ONE if character == "?" else _literal(text[at]))
            at += 1
    return "".join(found)


def _bracket(text: str, at: int) -> tuple[str, int] | None:
    """Character class after an opening bracket, and the position after it."""
    negated = text.startswith(("!", "^"), at)
    at += negated
    ranges: list[str] = []
    previous = ""  # what a dash would continue
    first = True
    while at < len(text) and (first or text[at] != "]"):
        first = False
        if text.startswith("[:", at):
            close = text.find("]", at + 2)
            if close < 0:
                return None
            if close > at + 2 and text[close - 1] == ":":
                class_ranges = _CLASSES.get(text[at + 2 : close - 1])
                if class_ranges is None:
                    return None
                ranges += class_ranges
                previous, at = "", close + 1
                continue
        is_range = text[at] == "-" and previous != "" and at + 1 < len(text) and text[at + 1] != "]"
        at += is_range
        at += text[at] == "\\"
        if at == len(text):
            return None
        ranges.append((previous if is_range else text[at]) + text[at])
        previous = "" if is_range else text[at]
        at += 1
    return (_set(ranges, negated), at + 1) if at < len(text) else None


def _set(ranges: list[str], negated: bool) -> str:
    """RE2 class of one character from these ranges, never a slash."""
    spans = [(span[0], span[1]) for span in ranges]
    if negated:
        spans.append(("/", "/"))
    else:  # "." and "0" are the neighbours of the slash
        spans = [part for low, high in spans for part in ((low, min(high, ".")), (max(low, "0"), high))]
    inside = "".join(f"{_literal(low)}-{_literal(high)}" for low, high in spans if low <= high)
    return f"[{'^' if negated else ''}{inside}]" if inside else _NONE


def _literal(character: str) -> str:
    return character if character.isascii() and character.isalnum() else f"\\x{{{ord(character):x}}}"
