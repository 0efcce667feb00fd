"""Identifiers of a query: tokens that name one thing, such as codes, numbers, flags, symbols and names.

Form decides first: digits with letters, dotted numbers, CAPITALS, joined words, camelCase. A token that only looks like
a name (a capitalised word, `kube-proxy`) is looked up in the index, if there is one: a name is rare. Case does not
matter for identifiers, and capitals are ignored in a query that is all in capitals.
"""

from __future__ import annotations

from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.ports import Words

MAX_SHORT_WORDS = 4
"""A query of more words than this is a sentence."""
MAX_NAME_SHARE = 0.002
"""A name is in at most this share of the chunks ..."""
MAX_NAME_CHUNKS = 3
"""... or in at most this many."""
SMALL_NUMBER_DIGITS = 2
"""A number of at most so many digits counts only beside another identifier."""
MAX_INFIX_LENGTH = 5
"""A word of at most so many letters between two numbers is part of the code: `30 cfr 75.1725`."""
MIN_SHOUTED_WORDS = 4


@dataclass(frozen=True, slots=True)
class QueryIdentifiers:
    """Tokens of a query: all of them, those that are not question words, and the identifiers among these."""

    surfaces: tuple[str, ...]
    content_tokens: tuple[str, ...]
    anchors: tuple[str, ...]
    by_form: bool  # every anchor is one by its form alone

    @property
    def share(self) -> float:
        """Share of identifiers among the tokens that are not question words."""
        return len(self.anchors) / max(1, len(self.content_tokens))

    @property
    def distinct(self) -> tuple[str, ...]:
        """Identifiers, each once; small numbers only if there are no others, since they are in many texts."""
        large = [anchor for anchor in self.anchors if not anchor.isdigit() or len(anchor) > SMALL_NUMBER_DIGITS]
        return tuple(dict.fromkeys(large or self.anchors))

    @property
    def kind(self) -> str:
        if not self.anchors:
            return "conceptual"
        unstopped = [surface for surface in self.surfaces if surface.lower() not in tokens.STOPWORDS]
        return "identifier" if len(unstopped) <= len(self.anchors) else "mixed"

    @property
    def length(self) -> str:
        return "short" if len(self.surfaces) <= MAX_SHORT_WORDS else "sentence"


def read(text: str, words: Words | None = None) -> QueryIdentifiers:
    """Identifiers of a query; without an index (`words`), form alone decides."""
    surfaces = tokens.surfaces(text)
    shouted = _shouted(surfaces)
    codes = [_is_code(surface, shouted) for surface in surfaces]
    _join(surfaces, codes)
    content = [n for n, s in enumerate(surfaces) if codes[n] or s.lower() not in tokens.QUESTION_WORDS]
    anchors = [n for n in content if codes[n]]
    by_form = bool(anchors)
    if not anchors:
        anchors = _names(surfaces, content, words)
    return QueryIdentifiers(
        tuple(surfaces), tuple(surfaces[n] for n in content), tuple(surfaces[n] for n in anchors), by_form
    )


def _shouted(surfaces: list[str]) -> bool:
    """Whether capitals are no evidence: all words are in capitals, and they are many or question words."""
    alphabetic = [surface for surface in surfaces if surface.isalpha() and len(surface) > 1]
    if not all(surface.isupper() for surface in alphabetic):
        return False
    return len(alphabetic) >= MIN_SHOUTED_WORDS or any(
        surface.lower() in tokens.QUESTION_WORDS for surface in alphabetic
    )


def _is_code(surface: str, shouted: bool) -> bool:
    if surface.isdigit():
        return len(surface) > SMALL_NUMBER_DIGITS
    if not tokens.is_identifier(surface):
        return False
    if any(character.isdigit() for character in surface) or surface.startswith("-") or "_" in surface.strip("_"):
        return True
    if surface.isalpha():
        return surface.lower() not in tokens.QUESTION_WORDS and not (shouted and surface.isupper())
    if any(joint in surface for joint in ":@\\+&#"):
        return True
    if "." in surface:
        return any(len(part) > 1 for part in surface.split("."))  # e.g., i.e., p.m. are none
    parts = surface.replace("/", "-").split("-")
    return not shouted and (
        all(part[:1].isupper() for part in parts) or any(tokens.is_identifier(part) for part in parts)
    )


def _join(surfaces: list[str], codes: list[bool]) -> None:
    """Mark tokens between or beside parts of a code as parts of it."""
    for n in range(1, len(surfaces) - 1):
        around = [_is_number(surfaces[n - 1]), _is_number(surfaces[n + 1])]
        word = surfaces[n]
        if all(around) and (codes[n - 1] or codes[n + 1]) and word.isalpha() and len(word) <= MAX_INFIX_LENGTH:
            codes[n] = codes[n] or word.lower() not in tokens.QUESTION_WORDS
    for n, surface in enumerate(surfaces):
        if surface.isdigit() and not codes[n]:
            codes[n] = len(surfaces) == 1 or any(codes[max(0, n - 1) : n + 2])


def _is_number(surface: str) -> bool:
    return surface.replace(".", "").isdigit()


def _names(surfaces: list[str], content: list[int], words: Words | None) -> list[int]:
    """Capitalised and joined words that are rare in the index; a single content token needs no index."""
    alone = len(content) == 1
    found = []
    for n in content:
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
    parts = tokens.words_of(surface)
    if not parts:
        return False
    frequency = words.frequency("forms", surface) if joined else words.frequency("body", parts[0])
    if capital or joined:
        return frequency <= max(MAX_NAME_CHUNKS, MAX_NAME_SHARE * words.size) and (frequency > 0 or alone)
    return 0 < frequency <= MAX_NAME_SHARE * words.size
