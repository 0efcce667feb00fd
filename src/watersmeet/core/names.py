"""What a link may call a document.

A link is written by hand: `[[Setup]]`, `[[guides/Setup#First]]`, `../setup.md`, `/docs/setup/`. A document
answers to its path, to every end of its path, to its folder's name if it is an index page, and to its
aliases. Both sides become keys that are compared for equality, so that resolving a link is one look-up and
is never stale.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable

from watersmeet.core.model import DocId

INDEX_PAGES = frozenset({"index", "_index", "readme"})
ALIAS = 100
"""The rank of an alias: any part of the path is a closer name."""

_ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".rst", ".html")


def names_of(document: DocId, aliases: Iterable[str] = ()) -> dict[str, int]:
    """The keys that a document answers to; 0 is its own path, higher is less close."""
    parts = _plain(document).split("/")
    found = {"/".join(parts[i:]): i for i in range(len(parts))}
    if parts[-1] in INDEX_PAGES:
        folder = parts[:-1]
        for i in range(len(folder)):
            found.setdefault("/".join(folder[i:]), i)
    for alias in aliases:
        found.setdefault(_plain(alias), ALIAS)
    found.setdefault(document.casefold(), 0)
    return {key: rank for key, rank in found.items() if key}


def link_key(document: DocId, target: str, type: str) -> str:
    """The key that a link in `document` looks for."""
    if type == "markdown" and not target.startswith("/"):
        folder = posixpath.dirname(document)
        target = posixpath.normpath(posixpath.join("/", folder, target))
    elif target.startswith(("./", "../")):
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(document), target))
    return _plain(target)


def is_page(document: str) -> bool:
    """Whether a document's id is the path of a text file, whose name then says something."""
    return document.casefold().endswith(_ENDINGS)


def _plain(name: str) -> str:
    name = name.strip().strip("/").casefold()
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)  # some file systems take accents off their letters
    for ending in _ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name
