"""Links and tags of a text and of its front matter."""

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
_MAX_ALIAS_LENGTH = 200
T = TypeVar("T")


def wiki_link(written: str, alias: str, type_: str) -> Link | None:
    """A wiki link from `Note#Heading` and its alias; None if it points outside or into its own note."""
    target, _, heading = written.partition("#")
    target = target.strip()
    if not target or _SCHEME.match(target):
        return None
    return Link(target, type_, heading.strip(), alias.strip()[:_MAX_ALIAS_LENGTH])


def markdown_link(destination: str, text: str) -> Link | None:
    """A Markdown link to a file below the same root or site; None for URLs and anchors in the same file."""
    if _SCHEME.match(destination):
        return None
    target, _, heading = destination.partition("#")
    if "%" in destination:
        target, heading = clean(unquote(target)), clean(unquote(heading))
    target = target.strip()
    return Link(target, "markdown", heading.strip(), " ".join(text.split())[:_MAX_ALIAS_LENGTH]) if target else None


def related(value: Any) -> Iterator[Link]:
    """Links from front matter: names, paths or `[[wikilinks]]`, one or a list."""
    for entry in flat(value):
        for written in _WIKI.findall(entry) or [entry]:
            target, _, alias = written.partition("|")
            link = wiki_link(target, alias, "related")
            if link:
                yield link


def body_tags(text: str) -> Iterator[str]:
    """`#tags` in running text."""
    for _, _, tag in tags(text):
        yield tag


def listed_tags(value: Any) -> Iterator[str]:
    """Tags from front matter: a list, or a text separated by commas or blanks."""
    names = re.split(r"[\s,]+", value) if isinstance(value, str) else flat(value)
    for tag in names:
        tag = tag.strip().lstrip("#").strip()
        if tag:
            yield tag


def distinct(tags: Iterable[str]) -> tuple[str, ...]:
    """Distinct tags, ignoring case, in their first spelling."""
    by_folded: dict[str, str] = {}
    for tag in tags:
        by_folded.setdefault(tag.casefold(), tag)
    return tuple(by_folded.values())


def limited(found: Iterable[T], most: int, what: str) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """The first `most` items, and a warning if there were more."""
    kept = tuple(islice(found, most + 1))
    if len(kept) <= most:
        return kept, ()
    return kept[:most], (f"more than {most:,} {what}; the others are text only",)
