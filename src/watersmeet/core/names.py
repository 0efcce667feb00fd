"""What a link may call a document.

A link is written by hand: `[[Setup]]`, `[[guides/Setup#First]]`, `../setup.md`, `/docs/setup/`. A document
answers to its path, to every end of its path, to its folder's name if it is an index page, and to its
aliases. Both sides become keys that are compared for equality, so that resolving a link is one look-up and
is never stale.
"""

from __future__ import annotations

import os
import posixpath
import unicodedata
from collections.abc import Iterable

from watersmeet.core.model import DocId

INDEX_PAGES = frozenset({"index", "_index", "readme"})
ALIAS = 100
"""The rank of an alias: any part of the path is a closer name."""

WORDS_ONLY = {"skill": "registry_name", "virtual_server": "created_by"}
"""What entities of a kind are known by besides, in their metadata: found by its words, and in no text."""
MOST_ENDS = 100

_ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".rst", ".html")


def is_text(name: str) -> bool:
    """Whether a name is Unicode, and not bytes that only look like it: no store holds half a surrogate pair."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def printable(path: str) -> str:
    """A path that can be shown, whatever bytes its name is made of."""
    try:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # it never was a file's
        return path.encode("utf-8", "backslashreplace").decode()


def names_of(document: DocId, aliases: Iterable[str] = ()) -> dict[str, int]:
    """The keys that a document answers to; 0 is its own path, higher is less close."""
    parts = _plain(document).split("/")
    found = {"/".join(parts[i:]): i for i in _ends(parts)}
    if parts[-1] in INDEX_PAGES:
        folder = parts[:-1]
        for i in _ends(folder):
            found.setdefault("/".join(folder[i:]), i)
    for alias in aliases:
        found.setdefault(_plain(alias), ALIAS)
    found.setdefault(document.casefold(), 0)
    return {key: rank for key, rank in found.items() if key}


def _ends(parts: list[str]) -> Iterable[int]:
    """Where the names begin: at every part of a path as people make them, at the last ones of a longer path."""
    return (0, *range(max(1, len(parts) - MOST_ENDS), len(parts))) if parts else ()


def link_key(document: DocId, target: str, type: str) -> str:
    """The key that a link in `document` looks for."""
    if type == "markdown" and not target.startswith("/"):
        folder = posixpath.dirname(document)
        target = posixpath.normpath(posixpath.join("/", folder, target))
    elif target.startswith(("./", "../")):
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(document), target))
    return _plain(target)


def entity_path(path: str) -> str:
    """The path of an entity as it is kept: without percent signs for letters, doubled slashes and steps up.

    Its capitals and a slash at its end stay as they are written. What does not begin with a slash is an id, and stays
    whole."""
    if not path.startswith("/"):
        return path
    from urllib.parse import unquote  # only where something is registered, or asked for by its path

    while (plain := unquote(path)) != path:
        path = plain
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    end = "/" if parts and path.endswith("/") else ""
    return f"/{'/'.join(parts)}{end}"


def same_path(path: str) -> str:
    """Equal for all ways to write one path: `/priv`, `/priv/`, `//priv`, `/PRIV`, `/a/../priv`, `/%70riv`."""
    return entity_path(path).rstrip("/").casefold() or "/" if path.startswith("/") else path


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
