"""Which tokens of a query name one thing? Codes, numbers, flags, symbols, names.

Form decides first: digits with letters, dotted numbers, CAPITALS, joints, camelCase. What only looks like a name
(a capitalised word, `kube-proxy`) is held against the index, where there is one: a name is rare. An identifier's
case does not matter, but a query that is all in capitals says nothing by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core import tokens
from watersmeet.core.ports import Words

SHORT = 4
"""A query of more words than this is a sentence."""
NAME_SHARE = 0.002
"""A name is in at most this share of the chunks ..."""
NAME_ALWAYS = 3
"""... or in at most this many."""
SMALL_NUMBER = 2
"""A number of so few digits counts only beside another identifier."""
SANDWICHED = 5
"""A word of so few letters between two numbers is part of the code: `30 cfr 75.1725`."""
SHOUTED = 4


@dataclass(frozen=True, slots=True)
class QueryIdentifiers:
    """The tokens of a query, those that say what is asked for, and those that name one thing."""

    surfaces: tuple[str, ...]
    telling: tuple[str, ...]
    anchors: tuple[str, ...]
    by_form: bool  # every anchor is one by its form alone

    @property
    def share(self) -> float:
        """Anchors among the telling tokens."""
        return len(self.anchors) / max(1, len(self.telling))

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each anchor once; a small number only where there is nothing else, as it stands in every other text."""
        large = [anchor for anchor in self.anchors if not anchor.isdigit() or len(anchor) > SMALL_NUMBER]
        return tuple(dict.fromkeys(large or self.anchors))

    @property
    def kind(self) -> str:
        if not self.anchors:
            return "conceptual"
        spoken = [surface for surface in self.surfaces if surface.lower() not in tokens.STOPWORDS]
        return "identifier" if len(spoken) <= len(self.anchors) else "mixed"

    @property
    def length(self) -> str:
        return "short" if len(self.surfaces) <= SHORT else "sentence"


def read(text: str, words: Words | None = None) -> QueryIdentifiers:
    """Without an index, form alone decides."""
    surfaces = tokens.surfaces(text)
    shouted = _shouted(surfaces)
    codes = [_is_code(surface, shouted) for surface in surfaces]
    _join(surfaces, codes)
    telling = [n for n, s in enumerate(surfaces) if codes[n] or s.lower() not in tokens.ASKING]
    anchors = [n for n in telling if codes[n]]
    by_form = bool(anchors)
    if not anchors:
        anchors = _names(surfaces, telling, words)
    return QueryIdentifiers(
        tuple(surfaces), tuple(surfaces[n] for n in telling), tuple(surfaces[n] for n in anchors), by_form
    )


def _shouted(surfaces: list[str]) -> bool:
    """Whether capitals say nothing here: people ask in them, or everything is in them."""
    alphabetic = [surface for surface in surfaces if surface.isalpha() and len(surface) > 1]
    if not all(surface.isupper() for surface in alphabetic):
        return False
    return len(alphabetic) >= SHOUTED or any(surface.lower() in tokens.ASKING for surface in alphabetic)


def _is_code(surface: str, shouted: bool) -> bool:
    if surface.isdigit():
        return len(surface) > SMALL_NUMBER
    if not tokens.is_identifier(surface):
        return False
    if any(character.isdigit() for character in surface) or surface.startswith("-") or "_" in surface.strip("_"):
        return True
    if surface.isalpha():
        return surface.lower() not in tokens.ASKING and not (shouted and surface.isupper())
    if any(joint in surface for joint in ":@\\+&#"):
        return True
    if "." in surface:
        return any(len(part) > 1 for part in surface.split("."))  # e.g., i.e., p.m. are none
    parts = surface.replace("/", "-").split("-")
    return not shouted and (
        all(part[:1].isupper() for part in parts) or any(tokens.is_identifier(part) for part in parts)
    )


def _join(surfaces: list[str], codes: list[bool]) -> None:
    """What stands between or beside parts of a code belongs to it."""
    for n in range(1, len(surfaces) - 1):
        around = [_is_number(surfaces[n - 1]), _is_number(surfaces[n + 1])]
        word = surfaces[n]
        if all(around) and (codes[n - 1] or codes[n + 1]) and word.isalpha() and len(word) <= SANDWICHED:
            codes[n] = codes[n] or word.lower() not in tokens.ASKING
    for n, surface in enumerate(surfaces):
        if surface.isdigit() and not codes[n]:
            codes[n] = len(surfaces) == 1 or any(codes[max(0, n - 1) : n + 2])


def _is_number(surface: str) -> bool:
    return surface.replace(".", "").isdigit()


def _names(surfaces: list[str], telling: list[int], words: Words | None) -> list[int]:
    """Capitalised words and weakly joined ones that the index finds rare; the only telling token needs no index."""
    alone = len(telling) == 1
    found = []
    for n in telling:
        surface = surfaces[n]
        capital = surface.isalpha() and surface.istitle() and (n > 0 or len(surfaces) == 1)
        if words is None:
            named = alone and (capital or _is_joined(surface))
        else:
            named = _is_rare(surface, words, capital, alone)
        if named:
            found.append(n)
    return found


def _is_joined(surface: str) -> bool:
    """`kube-proxy`, `read/write`; not `e.g.`, and no plain number."""
    parts = surface.replace("/", "-").split("-")
    return len(parts) > 1 and all(part.isalpha() for part in parts) and any(len(part) > 1 for part in parts)


def _is_rare(surface: str, words: Words, capital: bool, alone: bool) -> bool:
    joined = _is_joined(surface)
    if not (capital or joined or alone):
        return False
    spoken = tokens.words_of(surface)
    if not spoken:
        return False
    often = words.frequency("forms", surface) if joined else words.frequency("body", spoken[0])
    if capital or joined:
        return often <= max(NAME_ALWAYS, NAME_SHARE * words.size) and (often > 0 or alone)
    return 0 < often <= NAME_SHARE * words.size
