"""Which words of a query an entity mentions, and where: whole words, never a pattern and never a part of a word.

A place counts once, however many words of the query it holds; each tool, or skill of an agent, is a place of its own.
Queries that a tool answers are of its place; those that an entity answers are of its metadata.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from watersmeet.core import tokens
from watersmeet.core.entities import Entity, Tool, metadata_text

PLACES = {"path": 5.0, "name": 3.0, "description": 2.0, "tags": 1.5, "metadata": 1.0}
"""What a mention is worth in each place."""
EACH_TOOL = 1.0
FULL = sum(PLACES.values()) + EACH_TOOL
"""What an entity has that mentions the query everywhere and in one tool: 13.5."""

_WORTH = [sum(w for n, w in enumerate(PLACES.values()) if places >> n & 1) for places in range(1 << len(PLACES))]

LEAST = 3
"""Shorter words say nothing, unless they are written like a name: S3, Go, R."""

_SIGNS = ("#", "++")
_JOINTS = re.compile(r"[.\-:/@\\+&#]+")
_VERSION = re.compile(r"(?<![\w.])[vV]?([0-9]++(?:\.[0-9]++)++)(?![\w.])")
_POINT = re.compile(r"[0-9]\.[0-9]")
_NAME, _DESCRIPTION, _COVERAGE = 0.5, 0.3, 0.3


@lru_cache(maxsize=64)
def query_words(text: str) -> tuple[str, ...]:
    """The words of a query that count, each once: not the short ones, nor those that people only ask with."""
    telling: dict[str, None] = {}
    others: dict[str, None] = {}
    for surface in tokens.surfaces(text):
        if surface.endswith(_SIGNS):
            telling[surface.lower()] = None
            continue
        telling.update(dict.fromkeys(_versions(surface)))
        for piece in _JOINTS.split(_VERSION.sub(".", surface)):
            flat = piece.replace("_", "")
            units = tokens.words(flat)
            if not units:
                continue
            for word in units[:1] if len(units[0]) >= len(flat) else units:
                if word in tokens.STOPWORDS or (len(word) < LEAST and not _like_a_name(piece)):
                    continue
                (others if word in tokens.ASKING else telling)[word] = None
    return tuple(telling or others)


def _like_a_name(piece: str) -> bool:
    if not piece.isascii():
        return True
    if len(piece) == 1:
        return piece.isupper()  # the language R
    return not piece.isdigit() and (not piece.islower() or any(map(str.isdigit, piece)))


def _versions(surface: str) -> list[str]:
    """The versions and other numbers with a point in a token: each is one word, and its parts say nothing."""
    return [version for version in _VERSION.findall(surface) if len(version) <= tokens.LONGEST_WORD]


def text_words(*texts: str) -> set[str]:
    """The words of a text, with the parts of names like `getUser`."""
    found = {singular(word) for text in texts for word in tokens.words(text)}
    for text in texts:
        if any(sign in text for sign in _SIGNS):  # C# and C++ are words of their own
            found.update(surface.lower() for surface in tokens.surfaces(text) if surface.endswith(_SIGNS))
        if _POINT.search(text):
            found.update(version for surface in tokens.surfaces(text) for version in _versions(surface))
    return found - tokens.STOPWORDS


_HISSING = ("xes", "ches", "shes", "sses", "zzes")
_ODD = {
    **{word: word for word in ("news", "alias", "canvas", "series", "species", "kubernetes", "postgres")},
    **{f"{word}es": word for word in ("alias", "canvas", "bus", "status", "virus", "campus")},
    **{f"{word}s": word for word in ("cache", "niche", "axe", "movie", "cookie", "calorie", "zombie", "selfie")},
    **{f"{word}s": word for word in ("headache", "tie", "pie", "lie", "die")},
    **{f"{word}s": word for word in ("api", "cli", "emoji", "gui", "kpi", "taxi", "uri", "wiki")},
}
"""Words that the rules get wrong."""


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """One book, two books: the same word."""
    if word in _ODD:
        return _ODD[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(_HISSING):
        return word[:-2]
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]


def mentions(entity: Entity) -> dict[str, int]:
    """Each word that an entity holds, with its places as bits: those of PLACES in their order, then the tools."""
    texts = _places(entity)
    held = [text_words(*texts[place]) for place in PLACES]
    held += [text_words(tool.name, tool.description, *tool.examples) for tool in entity.tools]
    held += [text_words(ability.name, ability.description) for ability in entity.skills]
    found: dict[str, int] = {}
    for number, words in enumerate(held):
        for word in words:
            found[word] = found.get(word, 0) | 1 << number
    return found


def _places(entity: Entity) -> dict[str, tuple[str, ...]]:
    return {
        "path": (entity.path,),
        "name": (entity.name,),
        "description": (entity.description,),
        "tags": entity.tags,
        "metadata": (metadata_text(entity), *entity.examples),
    }


def boost(places: int) -> float:
    """What a set of places is worth."""
    return _WORTH[places & len(_WORTH) - 1] + EACH_TOOL * (places >> len(PLACES)).bit_count()


def place_names(places: int) -> list[str]:
    """The places by name, without the tools."""
    return [name for number, name in enumerate(PLACES) if places >> number & 1]


def matched_places(entity: Entity, words: Iterable[str]) -> list[str]:
    """In which places, besides the tools, an entity mentions any of these words."""
    wanted = frozenset(map(singular, words))
    texts = _places(entity)
    return [place for place in PLACES if any(_says(text, wanted) for text in texts[place])]


def _says(text: str, wanted: frozenset[str]) -> bool:
    """Whether any of the words is said: only where one can be is the text taken apart."""
    spaced = " ".join(text.split())
    low = spaced.lower()
    if not low.isascii():
        return not wanted.isdisjoint(text_words(text))
    for stem in map(_stem, wanted):
        at = low.find(stem)
        while at >= 0:
            start, end = low.rfind(" ", 0, at) + 1, low.find(" ", at + len(stem))
            end = len(low) if end < 0 else end
            if not wanted.isdisjoint(text_words(spaced[start:end])):
                return True
            at = low.find(stem, end)
    joined = [piece for piece in spaced.split(" ") if "_" in piece] if "_" in low else []  # get_user says getuser too
    return _maybe(joined, wanted) and not wanted.isdisjoint(text_words(*joined))


def grade(tool: Tool, words: Collection[str]) -> float:
    """How well a tool answers to the words by itself, from 0 (not at all) to 1."""
    return _grade(tool.name, "\n".join((tool.description, *tool.examples)), tuple(map(singular, words)))


@lru_cache(maxsize=1 << 12)
def _grade(name_said: str, description_said: str, wanted: tuple[str, ...]) -> float:
    """Kept for a while: the tools of a server are graded to be ranked, and to be shown with it."""
    if not _maybe((name_said, description_said), wanted):
        return 0.0
    name, description = text_words(name_said), text_words(description_said)
    by_name = sum(word in name for word in wanted)
    by_description = sum(word in description and word not in name for word in wanted)
    worth = min(1.0, _NAME * by_name + _DESCRIPTION * by_description)
    coverage = (by_name + by_description) / len(wanted)
    return worth * (1 - _COVERAGE) + coverage * _COVERAGE


def _maybe(texts: Iterable[str], words: Collection[str]) -> bool:
    """Whether it is worth a closer look: false only where none of the words can be there."""
    low = " ".join(texts).lower()
    if not low.isascii():
        return bool(words)
    flat = low.replace("_", "")
    return any(stem in flat or stem in low for stem in map(_stem, words))


def _stem(word: str) -> str:
    """What is in the text wherever the word is, in the singular or in the plural."""
    return word.removesuffix("y") or word


def grade_tools(tools: Sequence[Tool], words: Collection[str], most: int) -> list[tuple[Tool, float]]:
    """The tools that answer to any of the words, the best first."""
    found = [(tool, score) for tool in tools if (score := grade(tool, words)) > 0]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].name))[:most]
