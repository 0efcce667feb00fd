"""Keyword boosts of registry entities: which query words an entity mentions, and in which places.

Whole words are compared, never substrings. A place counts once, however many query words it contains. Each tool, and
each skill of an agent, is a place of its own. Example queries of a tool belong to its place; those of an entity to its
metadata.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from watersmeet.core import tokens
from watersmeet.core.entities import Entity, Tool, metadata_text

PLACES = {"path": 5.0, "name": 3.0, "description": 2.0, "tags": 1.5, "metadata": 1.0}
"""Boost of a mention in each place."""
TOOL_WEIGHT = 1.0
MAX_BOOST = sum(PLACES.values()) + TOOL_WEIGHT
"""Highest boost with one tool: the query is mentioned in every place and in that tool. 13.5."""

_BOOSTS = [sum(w for n, w in enumerate(PLACES.values()) if places >> n & 1) for places in range(1 << len(PLACES))]

MIN_WORD_LENGTH = 3
"""Shorter words are ignored, unless they are written like a name: S3, Go, R."""

_SIGNS = ("#", "++")
_JOINERS = re.compile(r"[.\-:/@\\+&#]+")
_VERSION = re.compile(r"(?<![\w.])[vV]?([0-9]++(?:\.[0-9]++)++)(?![\w.])")
_POINT = re.compile(r"[0-9]\.[0-9]")
_NAME, _DESCRIPTION, _COVERAGE = 0.5, 0.3, 0.3


@lru_cache(maxsize=64)
def query_words(text: str) -> tuple[str, ...]:
    """Query words to match, each once: no short words, and question words only if there is nothing else."""
    content_words: dict[str, None] = {}
    question_words: dict[str, None] = {}
    for surface in tokens.surfaces(text):
        if surface.endswith(_SIGNS):
            content_words[surface.lower()] = None
            continue
        content_words.update(dict.fromkeys(_versions(surface)))
        for piece in _JOINERS.split(_VERSION.sub(".", surface)):
            flat = piece.replace("_", "")
            units = tokens.words(flat)
            if not units:
                continue
            for word in units[:1] if len(units[0]) >= len(flat) else units:
                if word in tokens.STOPWORDS or (len(word) < MIN_WORD_LENGTH and not _like_a_name(piece)):
                    continue
                (question_words if word in tokens.QUESTION_WORDS else content_words)[word] = None
    return tuple(content_words or question_words)


def _like_a_name(piece: str) -> bool:
    if not piece.isascii():
        return True
    if len(piece) == 1:
        return piece.isupper()  # the language R
    return not piece.isdigit() and (not piece.islower() or any(map(str.isdigit, piece)))


def _versions(surface: str) -> list[str]:
    """Versions and decimal numbers in a token: each is one word, and its parts are not matched."""
    return [version for version in _VERSION.findall(surface) if len(version) <= tokens.MAX_WORD_LENGTH]


def text_words(*texts: str) -> set[str]:
    """Words of a text, with the parts of names like `getUser`."""
    found = {singular(word) for text in texts for word in tokens.words(text)}
    for text in texts:
        if any(sign in text for sign in _SIGNS):  # C# and C++ are words of their own
            found.update(surface.lower() for surface in tokens.surfaces(text) if surface.endswith(_SIGNS))
        if _POINT.search(text):
            found.update(version for surface in tokens.surfaces(text) for version in _versions(surface))
    return found - tokens.STOPWORDS


_SIBILANT_ENDINGS = ("xes", "ches", "shes", "sses", "zzes")
_IRREGULAR = {
    **{word: word for word in ("news", "alias", "canvas", "series", "species", "kubernetes", "postgres")},
    **{f"{word}es": word for word in ("alias", "canvas", "bus", "status", "virus", "campus")},
    **{f"{word}s": word for word in ("cache", "niche", "axe", "movie", "cookie", "calorie", "zombie", "selfie")},
    **{f"{word}s": word for word in ("headache", "tie", "pie", "lie", "die")},
    **{f"{word}s": word for word in ("api", "cli", "emoji", "gui", "kpi", "taxi", "uri", "wiki")},
}
"""Words whose singular the rules get wrong."""


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """The singular of an English word, by simple rules."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(_SIBILANT_ENDINGS):
        return word[:-2]
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]


def mentions(entity: Entity) -> dict[str, int]:
    """Each word of an entity with a bit set of its places: those of PLACES in order, then the tools."""
    texts = _places(entity)
    words_by_place = [text_words(*texts[place]) for place in PLACES]
    words_by_place += [text_words(tool.name, tool.description, *tool.examples) for tool in entity.tools]
    words_by_place += [text_words(ability.name, ability.description) for ability in entity.skills]
    found: dict[str, int] = {}
    for number, words in enumerate(words_by_place):
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
    """Boost of a bit set of places."""
    return _BOOSTS[places & len(_BOOSTS) - 1] + TOOL_WEIGHT * (places >> len(PLACES)).bit_count()


def place_names(places: int) -> list[str]:
    """Names of the places in a bit set, without the tools."""
    return [name for number, name in enumerate(PLACES) if places >> number & 1]


def matched_places(entity: Entity, words: Iterable[str]) -> list[str]:
    """Places, other than tools, in which an entity mentions any of these words."""
    wanted = frozenset(map(singular, words))
    texts = _places(entity)
    return [place for place in PLACES if any(_mentions_any(text, wanted) for text in texts[place])]


def _mentions_any(text: str, wanted: frozenset[str]) -> bool:
    """Whether a text contains any of the words. It is tokenized only around places where a stem occurs."""
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
    joined = (
        [piece for piece in spaced.split(" ") if "_" in piece] if "_" in low else []
    )  # get_user also counts as getuser
    return _may_contain(joined, wanted) and not wanted.isdisjoint(text_words(*joined))


def grade(tool: Tool, words: Collection[str]) -> float:
    """Score of a tool by its own name and description, from 0 (no word matches) to 1."""
    return _grade(tool.name, "\n".join((tool.description, *tool.examples)), tuple(map(singular, words)))


@lru_cache(maxsize=1 << 12)
def _grade(name_text: str, description_text: str, wanted: tuple[str, ...]) -> float:
    """Cached: a server's tools are graded once to rank it, and once more to show them."""
    if not _may_contain((name_text, description_text), wanted):
        return 0.0
    name, description = text_words(name_text), text_words(description_text)
    by_name = sum(word in name for word in wanted)
    by_description = sum(word in description and word not in name for word in wanted)
    weighted = min(1.0, _NAME * by_name + _DESCRIPTION * by_description)
    coverage = (by_name + by_description) / len(wanted)
    return weighted * (1 - _COVERAGE) + coverage * _COVERAGE


def place_score(tool: Tool, words: Collection[str]) -> float:
    """Boost of a tool as a share of a full match, as for an entity that has a name and a description only."""
    wanted = frozenset(map(singular, words))
    texts = {"name": (tool.name,), "description": (tool.description, *tool.examples)}
    return sum(PLACES[place] for place, text in texts.items() if not wanted.isdisjoint(text_words(*text))) / MAX_BOOST


def _may_contain(texts: Iterable[str], words: Collection[str]) -> bool:
    """Cheap filter before tokenizing: false only if none of the words can occur in the texts."""
    low = " ".join(texts).lower()
    if not low.isascii():
        return bool(words)
    flat = low.replace("_", "")
    return any(stem in flat or stem in low for stem in map(_stem, words))


def _stem(word: str) -> str:
    """Substring shared by the singular and the plural of a word."""
    return word.removesuffix("y") or word


def grade_tools(tools: Sequence[Tool], words: Collection[str], most: int) -> list[tuple[Tool, float]]:
    """The tools that match any of the words, best first, at most `most`."""
    found = [(tool, score) for tool in tools if (score := grade(tool, words)) > 0]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].name))[:most]
