"""Filter conditions for both servers. All but dates is one array of `key=value` for each document.

Globs are narrowed to folders and file names here, and decided by `common/conditions.py` where a document is looked up:
so is everything else once more, for only PostgreSQL knows what is true at one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.facets import facets_of, tag_names
from watersmeet.core.model import Condition
from watersmeet.store.qdrant.points import FILTERS, MODIFIED

if TYPE_CHECKING:
    from watersmeet.core.documents import Document

OWN = frozenset({"kind", "document", "collection", "path", "tag", "tags"})
"""Keys that mean something else than a field of that name."""
FILE, FOLDER, GATED = "/file", "/folder", "?"
Collections = Mapping[str, Mapping[str, str]]


def filters_of(document: Document, collection: str) -> list[str]:
    """What a document can be found by."""
    found = {
        f"kind={document.kind.casefold()}",
        f"document={document.id}",
        f"collection={collection.casefold()}",
        f"{FILE}={document.id.rpartition('/')[2]}",
        *(f"{FOLDER}={folder}" for folder in _ancestors(document.id)),
    }
    for key, value in facets_of(document):
        if key == "tag":
            found |= {f"tag={tag}" for tag in (value, *_ancestors(value))}
        elif key not in OWN:
            found.add(f"{key}={value}")
        found.add(GATED + key)
    return sorted(found)


def _ancestors(path: str) -> Iterator[str]:
    return (path[:at] for at, character in enumerate(path) if character == "/")


class Pushed:
    """`wanted` and `unwanted` are lists of values, one of which a document has, or none; `gates` have their key too."""

    def __init__(self, condition: Condition, collections: Collections) -> None:
        every = (*condition.fields.items(), *condition.also)
        self._wanted = [values for key, said in every if (values := _values(key, said, collections)) is not None]
        self._unwanted = [_values(key, said, collections) or [] for key, said in condition.without if not _is_path(key)]
        self._gates = [
            (GATED + key, [f"{key}={value.casefold()}" for value in allowed])
            for key, allowed in condition.gates.items()
        ]
        self._since, self._before = condition.since, condition.before
        self.globs = any(_is_path(key) for key, _ in (*every, *condition.without))

    def qdrant(self) -> dict[str, Any]:
        must: list[Any] = [_any(values) for values in self._wanted]
        for key, allowed in self._gates:
            must.append({"should": [{"must_not": [_any([key])]}, _any(allowed)]})
        span = {"gte": self._since and self._since.timestamp(), "lt": self._before and self._before.timestamp()}
        if self._since or self._before:
            must.append({"key": MODIFIED, "range": {name: at for name, at in span.items() if at is not None}})
        return {"must": must, "must_not": [_any(values) for values in self._unwanted]}

    def sql(self) -> tuple[str, list[Any]]:
        """Over documents `d`."""
        parts: list[tuple[str, list[Any]]] = [("d.filters && %s", [values]) for values in self._wanted]
        parts += [("NOT d.filters && %s", [values]) for values in self._unwanted]
        parts += [("(NOT d.filters && %s OR d.filters && %s)", [[key], allowed]) for key, allowed in self._gates]
        if self._since:
            parts.append(("d.modified >= %s", [self._since]))
        if self._before:
            parts.append(("d.modified < %s", [self._before]))
        return " AND ".join(["true", *(sql for sql, _ in parts)]), [value for _, given in parts for value in given]


def _any(values: Sequence[str]) -> dict[str, Any]:
    return {"key": FILTERS, "match": {"any": list(values)}}


def _is_path(key: str) -> bool:
    return key.casefold() == "path"


def _values(key: str, wanted: Sequence[str], collections: Collections) -> list[str] | None:
    """None if all documents have to be looked at."""
    key = key.casefold()
    low = [value.casefold() for value in wanted]
    if key == "path":
        narrowed = [_narrowed(glob) for glob in wanted]
        return [one for one in narrowed if one] if all(narrowed) else None
    if key == "document":
        return [f"document={name}" for name in wanted]
    if key in ("kind", "collection"):
        return [f"{key}={value}" for value in low]
    if key in ("tag", "tags"):
        key, low = "tag", [name for tag in wanted for name in tag_names(tag)]
    theirs = [name for name, metadata in collections.items() if _has_value(metadata, key, low)]
    return [*(f"{key}={value}" for value in low), *(f"collection={name.casefold()}" for name in theirs)]


def _has_value(metadata: Mapping[str, str], key: str, low: Sequence[str]) -> bool:
    """Whether a collection's metadata has one of the values; of tags, one that lies below it too."""
    found = {name.casefold(): value.casefold() for name, value in metadata.items()}.get(key)
    if found is None:
        return False
    return found in low or (key == "tag" and any(found.startswith(f"{tag}/") for tag in low))


def _narrowed(glob: str) -> str | None:
    """The folder or file name that whatever a glob matches has; None if there is none."""
    glob = glob.removeprefix("/") if "/" in glob.rstrip("/") else glob
    literal = glob[: min((at for at in map(glob.find, "*?[\\") if at >= 0), default=len(glob))]
    if literal == glob and not glob.endswith("/"):
        return f"{FILE}={glob.rpartition('/')[2]}"
    folder = literal.rpartition("/")[0]
    return f"{FOLDER}={folder}" if folder else None
