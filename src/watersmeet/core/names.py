"""Link keys: the names by which a link can refer to a document.

A link is written by hand: `[[Setup]]`, `[[guides/Setup#First]]`, `../setup.md`, `/docs/setup/`. The names of a document
are its path, every suffix of its path, its folder's name if it is an index page, and its aliases. Both sides become
keys that are compared for equality, so that resolving a link is one look-up and never stale.
"""

from __future__ import annotations

import os
import posixpath
import unicodedata
from collections.abc import Iterable

from watersmeet.core.imports import import_key, import_names
from watersmeet.core.model import DocId

INDEX_PAGES = frozenset({"index", "_index", "readme"})
CODE = "code"
"""Kind of a document that is source code."""
CREATED = "@created"
"""Catalogue field for the date of creation of a document."""
ALIAS = 100
"""Rank of an alias: any suffix of the path is a closer name."""

CUSTOM = "custom:"
"""Before the name of an entity type that settings declare, in the kind of its documents: no kind of file has it. So the
catalogue says which types have entities, whatever the settings declare."""
WORDS_ONLY = {"skill": "registry_name", "virtual_server": "created_by"}
"""Metadata field of an entity kind that keyword search uses and that is in no text."""
MAX_PATH_SUFFIXES = 100

_ENDINGS = tuple(".md .markdown .mdx .txt .rst .rest .adoc .asciidoc .asc .org .ipynb .html .htm .xhtml".split())
"""Endings of pages: a link may leave them out."""
_FILE_ENDINGS = (
    *_ENDINGS,
    *".pdf .docx .pptx .xlsx .odt .ods .odp .rtf .epub .doc .ppt .xls .msg .csv .tsv .eml .json .yaml .yml".split(),
)
"""Endings of files whose name is searched. The title of source code has it."""


def is_text(name: str) -> bool:
    """Whether a name is valid Unicode: no store accepts half a surrogate pair."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def printable(path: str) -> str:
    """A path for display, with invalid bytes escaped."""
    try:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # not a file name
        return path.encode("utf-8", "backslashreplace").decode()


def names_of(document: DocId, aliases: Iterable[str] = ()) -> dict[str, int]:
    """Link keys of a document with their ranks; 0 is its own path, a higher rank is less close."""
    parts = _plain(document).split("/")
    found = {"/".join(parts[i:]): i for i in _ends(parts)}
    if parts[-1] in INDEX_PAGES:
        folder = parts[:-1]
        for i in _ends(folder):
            found.setdefault("/".join(folder[i:]), i)
    for alias in aliases:
        found.setdefault(_plain(alias), ALIAS)
    found.setdefault(document.casefold(), 0)
    found |= import_names(document)
    return {key: rank for key, rank in found.items() if key}


def _ends(parts: list[str]) -> Iterable[int]:
    """Start positions of path suffixes: all parts of a path, or the last `MAX_PATH_SUFFIXES` of a longer one."""
    return (0, *range(max(1, len(parts) - MAX_PATH_SUFFIXES), len(parts))) if parts else ()


def link_key(document: DocId, target: str, type: str) -> str:
    """Link key of a target written in `document`."""
    if type == "import":
        return import_key(document, target)
    if type == "markdown" and not target.startswith("/"):
        folder = posixpath.dirname(document)
        target = posixpath.normpath(posixpath.join("/", folder, target))
    elif target.startswith(("./", "../")):
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(document), target))
    return _plain(target)


def entity_path(path: str) -> str:
    """Stored path of an entity: percent-decoded, without double slashes and `..`.

    Case and a trailing slash are kept. A value that does not begin with a slash is an id, and is not changed."""
    if not path.startswith("/"):
        return path
    from urllib.parse import unquote  # only needed by registries

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
    """Comparison key of a path: the same for `/priv`, `/priv/`, `//priv`, `/PRIV`, `/a/../priv`, `/%70riv`."""
    return entity_path(path).rstrip("/").casefold() or "/" if path.startswith("/") else path


def is_page(document: str) -> bool:
    """Whether a document's id is the path of a file that people name: then the file name is searched."""
    return document.casefold().endswith(_FILE_ENDINGS)


def _plain(name: str) -> str:
    name = name.strip().strip("/").casefold()
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)  # some file systems decompose accents
    for ending in _ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name
