"""Links and tags: which other notes, and which topics, does a text name?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from watersmeet.core.model import Link
from watersmeet.parse._values import clean, flat

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:|//")
_WIKI = re.compile(r"\[\[([^\[\]]+)\]\]")
_LONGEST_ALIAS = 200
# Everything but blanks and punctuation, so that marks of scripts that are not \w in `re` belong to a tag.
_TAG = re.compile(
    r"(?<![^\s(\[,;])#([^\s\x00-,.:-@\[-^`{-\xa0\xa1-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    r"\u2000-\u200b\u200e-\u206f\u3000-\u303f\ufe10-\ufe1f\ufe30-\ufe6f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40]+)"
)
_COLOUR = re.compile(r"(?:[0-9a-f]{3}){1,2}|(?=[a-f]*[0-9])(?:[0-9a-f]{4}){1,2}", re.IGNORECASE)
_SEPARATORS = "-/_"


def wiki_link(written: str, alias: str, type_: str) -> Link | None:
    """`Note#Heading` and what stands behind the bar; None if it points outside or into its own note."""
    target, _, heading = written.partition("#")
    target = target.strip()
    if not target or _SCHEME.match(target):
        return None
    return Link(target, type_, heading.strip(), alias.strip()[:_LONGEST_ALIAS])


def markdown_link(destination: str, text: str) -> Link | None:
    """A link to a file below the same root or site; None for URLs and for places in the same file."""
    if _SCHEME.match(destination):
        return None
    target, _, heading = destination.partition("#")
    if "%" in destination:
        target, heading = clean(unquote(target)), clean(unquote(heading))
    target = target.strip()
    return (
        Link(target, "markdown", heading.strip(), " ".join(text.split())[:_LONGEST_ALIAS]) if target else None
    )


def related(value: Any) -> Iterator[Link]:
    """Edges from front matter: names, paths or `[[wikilinks]]`, one or a list."""
    for entry in flat(value):
        for written in _WIKI.findall(entry) or [entry]:
            target, _, alias = written.partition("|")
            link = wiki_link(target, alias, "related")
            if link:
                yield link


def body_tags(text: str) -> Iterator[str]:
    """The `#tags` of running text.

    A tag begins after a blank, a bracket or a comma, so neither `foo#bar` nor the fragment of a URL is one.
    It holds something other than digits, so `#123` is none. Nor is a colour: three or six hex digits
    (`#fff`, `#add`, `#a1b2c3`), or four or eight of which one is 0 to 9 (`#ff0c`); `#cafe` is a tag.
    """
    for found in _TAG.findall(text):
        tag = found.rstrip(_SEPARATORS)
        if tag.strip("0123456789" + _SEPARATORS) and not _COLOUR.fullmatch(tag):
            yield tag


def listed_tags(value: Any) -> Iterator[str]:
    """Tags of front matter: a list, or one text with commas or blanks between them."""
    given = re.split(r"[\s,]+", value) if isinstance(value, str) else flat(value)
    for tag in given:
        tag = tag.strip().lstrip("#").strip()
        if tag:
            yield tag


def distinct(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, as it was written first, whatever the case."""
    seen: dict[str, str] = {}
    for tag in tags:
        seen.setdefault(tag.casefold(), tag)
    return tuple(seen.values())
