"""Links and tags: which other notes, and which topics, does a text name?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import unquote

from watersmeet.core.documents import Link
from watersmeet.core.tags import tags
from watersmeet.parse._values import clean, flat

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:|//")
_WIKI = re.compile(r"\[\[([^\[\]]+)\]\]")
_LONGEST_ALIAS = 200
T = TypeVar("T")


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
    return Link(target, "markdown", heading.strip(), " ".join(text.split())[:_LONGEST_ALIAS]) if target else None


def related(value: Any) -> Iterator[Link]:
    """Edges from front matter: names, paths or `[[wikilinks]]`, one or a list."""
    for entry in flat(value):
        for written in _WIKI.findall(entry) or [entry]:
            target, _, alias = written.partition("|")
            link = wiki_link(target, alias, "related")
            if link:
                yield link


def body_tags(text: str) -> Iterator[str]:
    """The `#tags` of running text."""
    for _, _, tag in tags(text):
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


def limited(found: Iterable[T], most: int, what: str) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """So many of them, and a warning if there were more."""
    kept = tuple(islice(found, most + 1))
    if len(kept) <= most:
        return kept, ()
    return kept[:most], (f"more than {most:,} {what}; the others are text only",)
