"""A folder of an index that lies elsewhere now: how that is noticed, and how it is said."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.core.indexing import Found, Source
from watersmeet.core.names import is_text, printable
from watersmeet.core.text_fields import digest

if TYPE_CHECKING:
    from watersmeet.core.writing import FileState, Root, Writer
    from watersmeet.engine.settings import Settings


def within(place: str, folders: Sequence[str]) -> bool:
    """Whether a place is one of these folders, or lies in one."""
    return any(place == folder or place.startswith(folder.rstrip("/") + "/") for folder in folders)


def gone_hint(path: str) -> str:
    """What can be done about a root that is gone."""
    old = quote(path)
    return (
        f"if it lies elsewhere now, `watersmeet relocate {old} NEW` says where; "
        f"`watersmeet remove {old}` forgets what was read from it"
    )


def moved_alone(catalogue: Writer) -> str:
    """What is said of an index that was moved without the folder that it belongs to."""
    base = catalogue.away
    theirs = next((root.path for root in catalogue.roots() if within(root.path, [base])), base)
    return (
        f"this index was moved here without its files and goes on covering {base}: move it back, or give it another "
        f"name; if the files lie elsewhere now, `watersmeet relocate {quote(theirs)} NEW` says where"
    )


def relocate(folder: str, settings: Settings, old: str, new: str) -> int:
    """The root at `old` is at `new` from now on: ids, rows and vectors stay. How many documents that are.

    Roots in it that went with it do so here, too.
    """
    from watersmeet.engine.writing import writing

    for path in (old, new):
        if not path:
            raise ConfigError("an empty path was given", "is a variable not set?")
        if "\0" in path or not is_text(path):
            raise SourceProblem(f"{printable(path)}: name is not valid UTF-8", "check its spelling, or rename it")
    place = os.path.realpath(new)
    if not os.path.exists(place):
        raise SourceProblem(f"{place} does not exist", "name the folder where the files are now")
    with writing(folder, settings) as index:
        root = _root_at(index.catalogue.roots(), old)
        _check(index.catalogue, root, place)
        along = _along(index.catalogue, root, place)
        return index.catalogue.relocate([(root, place), *along])


def _check(catalogue: Writer, root: Root, place: str) -> None:
    """Raise if a root cannot be at a place. It may lie in another, or around it."""
    for other in catalogue.roots():
        if other.id != root.id and other.path == place:
            raise ConfigError(
                f"{place} is in this index already",
                f"`watersmeet remove {quote(root.path)}` forgets what was read from the old place",
            )
    _check_kind(catalogue, root, place)


def _along(catalogue: Writer, root: Root, place: str) -> list[tuple[Root, str]]:
    """The roots in a root that are gone from there and are found in its new place; and where that is."""
    roots = catalogue.roots()
    found = []
    for other in roots:
        there = place.rstrip("/") + other.path[len(root.path.rstrip("/")) :]
        if other.id == root.id or not within(other.path, [root.path]) or os.path.exists(other.path):
            continue
        with suppress(ConfigError, SourceProblem):
            if os.path.exists(there):
                _check(catalogue, other, there)
                found.append((other, there))
    return found


def _root_at(roots: Sequence[Root], old: str) -> Root:
    paths = {old, os.path.abspath(old), os.path.realpath(old)}
    for root in roots:
        if root.path in paths:
            return root
    known = ", ".join(root.path for root in roots) or "none"
    raise ConfigError(f"{old} is no folder of this index", f"those that it has: {known}")


def _check_kind(catalogue: Writer, root: Root, place: str) -> None:
    """What was a folder is no file now, and the other way round."""
    was_file = catalogue.is_one_file(root)
    if was_file is not None and was_file is os.path.isdir(place):
        was, now = ("file", "folder") if was_file else ("folder", "file")
        raise SourceProblem(f"{root.path} was a {was}, and {place} is a {now}", f"name the {was} that it is now")


def refuse_copy(catalogue: Writer, source: Source, place: str) -> None:
    """Raise if a place that is about to be added holds what was read from a root that is gone, and may be its new one.

    What is other roots' there, or would come along with it, is no part of the comparison.
    """
    roots = catalogue.roots()
    gone = [root for root in roots if not os.path.exists(root.path)]
    if not gone:
        return
    there = [item for item in source.scan(place) if isinstance(item, Found)]
    for root in gone:
        try:
            _check(catalogue, root, place)
        except (ConfigError, SourceProblem):
            continue
        theirs = [*(other.path for other in roots), *(path for _, path in _along(catalogue, root, place))]
        if _same(catalogue.files(root.id), [item for item in there if not within(item.path, theirs)], source):
            raise SourceProblem(
                f"{place} holds what was read from {root.path}, which is gone",
                f"say that it has moved: `watersmeet relocate {quote(root.path)} {quote(place)}`; "
                f"else forget the old one first: `watersmeet remove {quote(root.path)}`",
            )


def _same(known: Mapping[str, FileState], there: Sequence[Found], source: Source) -> bool:
    """Whether most files of either side are those of the other: by name, and by time stamp or content."""
    most = max(len(known), len(there))
    pairs = [(known[item.name], item) for item in there if item.name in known]
    if 2 * len(pairs) <= most:
        return False
    return 2 * sum(_equal(state, item, source) for state, item in pairs) > most


def _equal(state: FileState, item: Found, source: Source) -> bool:
    """Size and time of a file stay when it is moved; where only its time differs, it is read."""
    if state.stamp[:2] == item.stamp[:2]:
        return True
    if state.stamp[:1] != item.stamp[:1]:
        return False
    content = source.read(item)
    return isinstance(content, bytes) and digest(content) == state.hash
