"""Does a path match a pattern? Git's rules, for .gitignore files and for the include and exclude globs.

`*`, `?` and `[a-z]` stop at a slash, `**` between slashes does not; a backslash takes the next character as
it is. A pattern without a slash is held against the last part of a path, any other against the whole of it.

All ways through a pattern are followed at once, as the bits of a number, so that no pattern, however hostile,
takes more than one step for each character of the path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_STAR = "star"  # any characters but a slash
_DEEP = "deep"  # any characters
_MAYBE = "maybe"  # the three tokens that begin here may be left out: `**/` stands for no folder, too

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


@dataclass(frozen=True, slots=True)
class _Set:
    """One character out of some ranges, never a slash."""

    ranges: tuple[str, ...] = ()
    negated: bool = False

    def accepts(self, character: str) -> bool:
        inside = any(span[0] <= character <= span[1] for span in self.ranges)
        return inside is not self.negated and character != "/"


_Token = str | _Set  # a string of one character is that character


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a .gitignore, or one glob."""

    test: Callable[[str], bool]
    literal: str  # what it must equal, if it holds no wildcard
    by_name: bool
    folders_only: bool
    negated: bool

    def matches(self, name: str, path: str, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.test(name if self.by_name else path)


def pattern(text: str, may_negate: bool = True) -> Pattern | None:
    """What a line means; None if it can match nothing."""
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
    tokens = _tokens(text, wildcard)
    if tokens is None:
        return None
    return Pattern(_Machine(text[:wildcard], tokens).accepts, "", by_name, folders_only, negated)


def _first_special(text: str) -> int:
    return min((at for at in map(text.find, _SPECIAL) if at >= 0), default=len(text))


def _tokens(text: str, at: int) -> list[_Token] | None:
    """The tokens from the first wildcard on; None if a bracket or a backslash is left open."""
    found: list[_Token] = []
    start = at
    while at < len(text):
        character = text[at]
        if character == "*":
            end = at
            while end < len(text) and text[end] == "*":
                end += 1
            # Git forgets the literal beginning of a pattern before it looks at what precedes the stars.
            free = at == start or text[at - 1] == "/"
            if end - at == 1 or not free or not (end == len(text) or text.startswith(("/", "\\/"), end)):
                found.append(_STAR)
            elif text.startswith("/", end):
                if found[-3:] != [_MAYBE, _DEEP, "/"]:
                    found += [_MAYBE, _DEEP, "/"]
                end += 1
            else:
                found.append(_DEEP)
            at = end
        elif character == "[":
            bracket = _bracket(text, at + 1)
            if bracket is None:
                return None
            token, at = bracket
            found.append(token)
        else:
            if character == "\\":
                at += 1
                if at == len(text):
                    return None
            found.append(_Set(negated=True) if character == "?" else text[at])
            at += 1
    return found


def _bracket(text: str, at: int) -> tuple[_Set, int] | None:
    """The set that begins behind an opening bracket, and where the text goes on."""
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
                known = _CLASSES.get(text[at + 2 : close - 1])
                if known is None:
                    return None
                ranges += known
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
    return (_Set(tuple(ranges), negated), at + 1) if at < len(text) else None


class _Machine:
    """Bit i of a state says: the first i tokens may have been used up by what was read so far."""

    __slots__ = ("_final", "_head", "_literals", "_loops", "_maybes", "_moves", "_sets", "_start", "_stay")

    def __init__(self, head: str, tokens: list[_Token]) -> None:
        self._head = head
        self._literals: dict[str, int] = {}
        self._sets: dict[_Set, int] = {}
        self._maybes = self._loops = deep = 0
        for position, token in enumerate(tokens):
            bit = 1 << position
            if isinstance(token, _Set):
                self._sets[token] = self._sets.get(token, 0) | bit
            elif token == _MAYBE:
                self._maybes |= bit
            elif token in (_STAR, _DEEP):
                self._loops |= bit
                deep |= bit if token == _DEEP else 0
            else:
                self._literals[token] = self._literals.get(token, 0) | bit
        self._stay = {"/": deep}
        self._moves: dict[str, tuple[int, int]] = {}
        self._final = 1 << len(tokens)
        self._start = self._arrive(1)

    def accepts(self, path: str) -> bool:
        if not path.startswith(self._head):
            return False
        state = self._start
        for character in path[len(self._head) :]:
            move = self._moves.get(character) or self._learn(character)
            state = self._arrive((state & move[0]) << 1) | state & move[1]
            state |= (state & self._loops) << 1
            if not state:
                return False
        return state & self._final != 0

    def _arrive(self, state: int) -> int:
        """The state, with what may be left out left out."""
        left_out = state & self._maybes
        state |= left_out << 1 | left_out << 3
        return state | (state & self._loops) << 1

    def _learn(self, character: str) -> tuple[int, int]:
        """Which tokens use this character up, and which of the stars swallow it."""
        takes = self._literals.get(character, 0)
        for token, bits in self._sets.items():
            if token.accepts(character):
                takes |= bits
        self._moves[character] = move = (takes, self._stay.get(character, self._loops))
        return move
