"""A folder of an index that lies elsewhere now: how that is noticed, and how it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.core.indexing import Content, Found, Located, Skipped, Source, SourceRoot
from watersmeet.core.system import is_within, trimmed
from watersmeet.core.text_fields import digest_of
from watersmeet.engine.sync.sources import Sources

if TYPE_CHECKING:
    from watersmeet.core.index import Index
    from watersmeet.core.writing import FileState, Root, Writer
    from watersmeet.engine.settings.settings import Settings


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
    theirs = next((root.path for root in catalogue.roots() if is_within(root.path, base)), base)
    return (
        f"this index was moved here without its files and goes on covering {base}: move it back, or give it another "
        f"name; if the files lie elsewhere now, `watersmeet relocate {quote(theirs)} NEW` says where"
    )


def relocate(index: Index, settings: Settings, old: str, new: str) -> int:
    """The root at `old` is at `new` from now on: ids, rows and vectors stay. How many documents that are.

    Roots in it that went with it do so here, too.
    """
    from watersmeet.engine.index.writer import open_for_writing

    for path in (old, new):
        if not path:
            raise ConfigError("an empty path was given", "is a variable not set?")
    sources = Sources(settings)
    _, before = sources.locate(old)
    _, place = sources.locate(new)
    if not place.exists:
        raise SourceProblem(f"{place.uri} does not exist", "name the folder where the files are now")
    with open_for_writing(index, settings) as opened:
        root = _root_at(opened.catalogue.roots(), before, old)
        source = sources.of(root.kind)
        _check(opened.catalogue, source, root, place.uri)
        along = _along(opened.catalogue, source, root, place.uri)
        return opened.catalogue.relocate([(root, place.uri), *along])


def _check(catalogue: Writer, source: Source, root: Root, place: str) -> None:
    """Raise if a root cannot be at a place. It may lie in another, or around it."""
    for other in catalogue.roots():
        if other.id != root.id and other.path == place:
            raise ConfigError(
                f"{place} is in this index already",
                f"`watersmeet remove {quote(root.path)}` forgets what was read from the old place",
            )
    was_file = catalogue.is_one_file(root)
    if was_file is not None and was_file is (source.locate(place).only is None):
        was, now = ("file", "folder") if was_file else ("folder", "file")
        raise SourceProblem(f"{root.path} was a {was}, and {place} is a {now}", f"name the {was} that it is now")


def _along(catalogue: Writer, source: Source, root: Root, place: str) -> list[tuple[Root, str]]:
    """The roots in a root that are gone from there and are found in its new place; and where that is."""
    found = []
    for other in _gone(catalogue, source, root.kind):
        there = trimmed(place) + other.path[len(trimmed(root.path)) :]
        if other.id == root.id or not source.within(other.path, root.path):
            continue
        with suppress(ConfigError, SourceProblem):
            if source.locate(there).exists:
                _check(catalogue, source, other, there)
                found.append((other, there))
    return found


def _gone(catalogue: Writer, source: Source, kind: str) -> list[Root]:
    """The roots of a kind that are not where they were."""
    return [root for root in catalogue.roots() if root.kind == kind and not source.locate(root.path).exists]


def _root_at(roots: Sequence[Root], place: Located, old: str) -> Root:
    for root in roots:
        if root.path in (place.uri, *place.spellings):
            return root
    known = ", ".join(root.path for root in roots) or "none"
    raise ConfigError(f"{old} is no folder of this index", f"those that it has: {known}")


def refuse_copy(catalogue: Writer, source: Source, place: SourceRoot) -> None:
    """Raise if a place that is about to be added holds what was read from a root that is gone, and may be its new one.

    What is other roots' there, or would come along with it, is no part of the comparison.
    """
    gone = _gone(catalogue, source, place.kind)
    if not gone:
        return
    there = [item for item in source.scan(place, {}) if isinstance(item, Found)]
    for root in gone:
        try:
            _check(catalogue, source, root, place.uri)
        except (ConfigError, SourceProblem):
            continue
        theirs = [other.path for other in catalogue.roots()]
        theirs += [path for _, path in _along(catalogue, source, root, place.uri)]
        others = [item for item in there if not any(source.within(item.uri, path) for path in theirs)]
        if _same(catalogue.files(root.id), others, source):
            raise SourceProblem(
                f"{place.uri} holds what was read from {root.path}, which is gone",
                f"say that it has moved: `watersmeet relocate {quote(root.path)} {quote(place.uri)}`; "
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
    """Size and time, with which stamps of files begin, stay when one is moved; if only its time differs, it is read."""
    before, now = state.stamp.split()[:2], item.stamp.split()[:2]
    if before == now:
        return True
    if before[:1] != now[:1]:
        return False
    stream = source.open(item)
    if isinstance(stream, Skipped):
        return False
    with stream:
        return digest_of(Content(stream).blocks()) == state.hash
