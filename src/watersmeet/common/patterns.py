"""Regular expressions in linear time: does a pattern occur in a text, whatever the case?

All ways through the pattern are followed at once (Thompson, CACM 1968), and what was learnt about a set of ways is
kept, so that a text costs one look-up for most of its characters and no pattern makes it cost more than its length.

Understood: literals, `.`, `[a-z]`, `[^a-z]`, `|`, `( )`, `(?: )`, `* + ? {2} {2,} {2,5}` (also lazy: here that is
the same), `^ $ \\b \\B`, `\\d \\w \\s` and their capitals, and a backslash before anything that is not a letter or
a digit. Not: whatever cannot be done in linear time (backreferences, looking ahead or behind, possessive parts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

MOST_NODES = 2_000
DEEPEST = 40
MOST_STATES = 500
MOST_MOVES = 128

Test = Callable[[str], bool]


class BadPattern(ValueError):
    """Not a pattern, or not one that can be matched in linear time."""


@dataclass(slots=True)
class _Node:
    """A place in the pattern: it takes a character, holds at a place, or only leads on."""

    test: Test | None = None
    holds: str = ""  # ^ $ b B
    then: list[_Node] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """A set of places, and what is known about what follows."""

    places: frozenset[int]
    in_word: bool
    at_start: bool
    moves: dict[str, _State | bool] = field(default_factory=dict)


def is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_SETS: dict[str, Test] = {"d": str.isdecimal, "w": is_word, "s": str.isspace}
_BLANKS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_END = ""


class Regular:
    """A compiled pattern. Threads may share it: what two of them learn at once is the same."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        nodes = _Parser(pattern).parse()
        self._nodes = nodes
        numbers = {id(node): n for n, node in enumerate(nodes)}
        self._then = [[numbers[id(after)] for after in node.then] for node in nodes]
        self._final = numbers[id(nodes[-1])]
        self._states: dict[tuple[frozenset[int], bool, bool], _State] = {}
        self._first = _State(frozenset(), False, True)

    def occurs_in(self, text: str) -> bool:
        state = self._first
        for character in (*text, _END):
            known = state.moves.get(character)
            move = self._learn(state, character) if known is None else known
            if isinstance(move, bool):
                return move
            state = move
        return False

    def _state(self, places: frozenset[int], in_word: bool, at_start: bool) -> _State:
        key = (places, in_word, at_start)
        found = self._states.get(key)
        if found is None:
            if len(self._states) >= MOST_STATES:
                self._states.clear()
                self._first = _State(frozenset(), False, True)  # and with it all that hangs on it
            found = self._states[key] = _State(places, in_word, at_start)
        return found

    def _learn(self, state: _State, character: str) -> _State | bool:
        """True once the pattern has occurred, False at the end of the text, else where that leads."""
        boundary = state.in_word != (character != _END and is_word(character))
        holding = {"b" if boundary else "B"}
        holding |= {"^"} if state.at_start else set()
        holding |= {"$"} if character == _END else set()
        reached = self._reached({0, *state.places}, holding)
        move: _State | bool
        if self._final in reached:
            move = True
        elif character == _END:
            move = False
        else:
            places = [n for n in reached if (test := self._nodes[n].test) is not None and test(character)]
            after = frozenset(next_one for n in places for next_one in self._then[n])
            move = self._state(after, is_word(character), False)
        if len(state.moves) < MOST_MOVES:
            state.moves[character] = move
        return move

    def _reached(self, places: Iterable[int], holding: set[str]) -> set[int]:
        """Everything that is reached from these places without taking a character."""
        reached: set[int] = set()
        waiting = list(places)
        while waiting:
            n = waiting.pop()
            node = self._nodes[n]
            if n in reached or (node.holds and node.holds not in holding):
                continue
            reached.add(n)
            if node.test is None:
                waiting += self._then[n]
        return reached


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a pattern, from its text to its nodes: `build(after)` gives the node that it begins with."""

    build: Callable[[_Node], _Node]


class _Parser:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern.removeprefix("(?i)")
        self._at = 0
        self._depth = 0
        self._spent = 0
        self._nodes: list[_Node] = []

    def parse(self) -> list[_Node]:
        """The nodes, the first one first and the final one last."""
        part = self._alternatives()
        if self._at < len(self._text):
            self._refuse("a bracket is closed that was not opened")
        final = _Node()
        first = _Node(then=[part.build(final)])
        return [first, *self._nodes, final]

    def _refuse(self, why: str) -> NoReturn:
        raise BadPattern(f"{why} (at character {self._at + 1})")

    def _spend(self) -> None:
        self._spent += 1
        if self._spent > MOST_NODES:
            self._refuse(f"the pattern has more than {MOST_NODES} places")

    def _node(self, test: Test | None = None, holds: str = "") -> _Node:
        self._spend()
        self._nodes.append(_Node(test, holds))
        return self._nodes[-1]

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _taken(self, wanted: str) -> bool:
        found = self._text.startswith(wanted, self._at)
        self._at += len(wanted) if found else 0
        return found

    # ------------------------------------------------------------ from text to parts

    def _alternatives(self) -> _Part:
        ways = [self._sequence()]
        while self._taken("|"):
            ways.append(self._sequence())
        if len(ways) == 1:
            return ways[0]

        def build(after: _Node) -> _Node:
            fork = self._node()
            fork.then += [way.build(after) for way in ways]
            return fork

        return _Part(build)

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._one()))

        def build(after: _Node) -> _Node:
            for part in reversed(parts):
                after = part.build(after)
            return after

        return _Part(build)

    def _repeated(self, part: _Part) -> _Part:
        bounds = self._bounds()
        if bounds is None:
            return part
        least, most = bounds
        self._taken("?")  # lazy: it occurs or it does not
        if self._next() in ("*", "+", "?") or self._counts() is not None:
            self._refuse("a repetition is repeated")

        def build(after: _Node) -> _Node:
            if most is None:
                loop = self._node()
                loop.then += [part.build(loop), after]
                after = loop
            else:
                for _ in range(most - least):
                    fork = self._node()
                    fork.then += [part.build(after), after]
                    after = fork
            for _ in range(least):
                self._spend()
                after = part.build(after)
            return after

        return _Part(build)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._taken(sign):
                return bounds
        counts = self._counts()
        if counts is None:
            return None
        self._at = self._text.index("}", self._at) + 1
        low, comma, high = counts
        if len(low) > 4 or len(high) > 4:
            self._refuse("it is repeated too often")
        least = int(low or 0)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            self._refuse("the most is less than the least")
        return least, most

    def _counts(self) -> tuple[str, str, str] | None:
        """What stands between braces, if that is a count; else the brace is a literal."""
        if self._next() != "{":
            return None
        inside, close, _ = self._text[self._at + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        plain = all(part == "" or (part.isascii() and part.isdigit()) for part in (low, high))
        return (low, comma, high) if close and plain and (low or comma) else None

    def _one(self) -> _Part:
        character = self._next()
        self._at += 1
        if character == "(":
            return self._group()
        if character == "[":
            return self._takes(self._class())
        if character == "\\":
            return self._escaped()
        if character in "*+?":
            self._refuse("there is nothing to repeat")
        if character in "^$":
            return self._holds(character)
        return self._takes(_any if character == "." else _one_of({character}, [], []))

    def _group(self) -> _Part:
        if self._next() == "?" and not self._taken("?:"):
            self._refuse("only (?: ) groups can be matched in linear time")
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(f"groups are more than {DEEPEST} deep")
        part = self._alternatives()
        if not self._taken(")"):
            self._refuse("a bracket is not closed")
        self._depth -= 1
        return part

    def _escaped(self) -> _Part:
        character = self._next()
        self._at += 1
        if character in ("b", "B"):
            return self._holds(character)
        if character in ("A", "Z"):
            return self._holds("^" if character == "A" else "$")
        if character.lower() in _SETS:
            return self._takes(_set(character))
        return self._takes(_one_of({self._literal(character)}, [], []))

    def _literal(self, character: str) -> str:
        if character in _BLANKS:
            return _BLANKS[character]
        if not character or character.isalnum():
            what = "a backreference" if character.isdigit() else f"\\{character}"
            self._refuse(f"{what} is not understood")
        return character

    def _class(self) -> Test:
        negated = self._taken("^")
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        sets: list[Test] = []
        first = True
        while first or self._next() != "]":
            first = False
            low = self._member(sets)
            high = ""
            if low and self._next() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._member([])
                if not high or high < low:
                    self._refuse("a range of characters runs backwards")
                ranges.append((low, high))
            elif low:
                singles.add(low)
        self._at += 1
        inside = _one_of(singles, ranges, sets)
        return (lambda character: not inside(character)) if negated else inside

    def _member(self, sets: list[Test]) -> str:
        """One character of a class; nothing if it was a set such as `\\d`."""
        character = self._next()
        if not character:
            self._refuse("a class of characters is not closed")
        self._at += 1
        if character != "\\":
            return character
        character = self._next()
        self._at += 1
        if character and character.lower() in _SETS:
            sets.append(_set(character))
            return ""
        return self._literal(character)

    # ------------------------------------------------------------ from parts to nodes

    def _takes(self, test: Test) -> _Part:
        return self._leaf(test, "")

    def _holds(self, where: str) -> _Part:
        return self._leaf(None, where)

    def _leaf(self, test: Test | None, holds: str) -> _Part:
        def build(after: _Node) -> _Node:
            node = self._node(test, holds)
            node.then.append(after)
            return node

        return _Part(build)


def _any(character: str) -> bool:
    return character != "\n"


def _set(letter: str) -> Test:
    inside = _SETS[letter.lower()]
    return inside if letter.islower() else lambda character: not inside(character)


def _one_of(singles: set[str], ranges: list[tuple[str, str]], sets: list[Test]) -> Test:
    """Whether a character is inside, in either case."""

    def inside(character: str) -> bool:
        cases = {character, character.lower(), character.upper()}
        return (
            not singles.isdisjoint(cases)
            or any(low <= case <= high for low, high in ranges for case in cases if len(case) == 1)
            or any(test(character) for test in sets)
        )

    return inside
