"""Moved folders of an index: detection, hints and relocation."""

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
    """The hint for a missing root."""
    old = quote(path)
    scheme = path[: path.find("+") + 1] if path.startswith(("git+", "history+")) else ""
    return (
        f"if it was moved, run `watersmeet relocate {old} {scheme}NEW`; "
        f"`watersmeet remove {old}` removes its documents from the index"
    )


def moved_alone(catalogue: Writer) -> str:
    """The warning for an index that was moved without its folder."""
    base = catalogue.away
    old = next((root.path for root in catalogue.roots() if is_within(root.path, base)), base)
    return (
        f"this index was moved here without its files and still covers {base}: move it back, or give it another "
        f"name; if the files were moved too, run `watersmeet relocate {quote(old)} NEW`"
    )


def relocate(index: Index, settings: Settings, old: str, new: str) -> int:
    """Record that the root at `old` is now at `new`; ids, rows and vectors stay. Returns the number of documents.

    Roots inside it that were moved with it are relocated too.
    """
    from watersmeet.engine.index.writer import open_for_writing

    for path in (old, new):
        if not path:
            raise ConfigError("an empty path was given", "is a variable not set?")
    sources = Sources(settings)
    _, before = sources.locate(old)
    kind, place = sources.locate(new)
    if not place.exists:
        raise SourceProblem(f"{place.uri} does not exist", "name the folder where the files are now")
    with open_for_writing(index, settings) as opened:
        root = _root_at(opened.catalogue.roots(), before, old)
        if kind != root.kind:
            raise ConfigError(
                f"{root.path} is read as {root.kind}, and {new} would be read as {kind}",
                "write the new place as the old one is written, such as git+PATH",
            )
        source = sources.of(root.kind)
        _check(opened.catalogue, source, root, place.uri)
        along = _moved_along(opened.catalogue, source, root, place.uri)
        return opened.catalogue.relocate([(root, place.uri), *along])


def _check(catalogue: Writer, source: Source, root: Root, place: str) -> None:
    """Raise if a root cannot be at a place. It may be inside another root, or around one."""
    for other in catalogue.roots():
        if other.id != root.id and other.path == place:
            raise ConfigError(
                f"{place} is in this index already",
                f"`watersmeet remove {quote(root.path)}` removes the documents of the old place",
            )
    was_file = catalogue.is_one_file(root)
    if was_file is not None and was_file is (source.locate(place).only is None):
        was, now = ("file", "folder") if was_file else ("folder", "file")
        raise SourceProblem(f"{root.path} was a {was}, and {place} is a {now}", f"name the {was} that it is now")


def _moved_along(catalogue: Writer, source: Source, root: Root, place: str) -> list[tuple[Root, str]]:
    """Roots inside a root that are missing there and exist in its new place, with their new paths."""
    found = []
    for other in _missing(catalogue, source, root.kind):
        new_path = trimmed(place) + other.path[len(trimmed(root.path)) :]
        if other.id == root.id or not source.within(other.path, root.path):
            continue
        with suppress(ConfigError, SourceProblem):
            if source.locate(new_path).exists:
                _check(catalogue, source, other, new_path)
                found.append((other, new_path))
    return found


def _missing(catalogue: Writer, source: Source, kind: str) -> list[Root]:
    """Roots of a kind that no longer exist."""
    return [root for root in catalogue.roots() if root.kind == kind and not source.locate(root.path).exists]


def _root_at(roots: Sequence[Root], place: Located, old: str) -> Root:
    for root in roots:
        if root.path in (place.uri, *place.spellings):
            return root
    paths = ", ".join(root.path for root in roots) or "none"
    raise ConfigError(f"{old} is not a folder of this index", f"its folders: {paths}")


def refuse_copy(catalogue: Writer, source: Source, place: SourceRoot) -> None:
    """Raise if a place to be added has the files of a missing root, and so may be its new place.

    Files of other roots there, or of roots that would move along, are not compared.
    """
    gone = _missing(catalogue, source, place.kind)
    if not gone:
        return
    items = [item for item in source.scan(place, {}) if isinstance(item, Found)]
    for root in gone:
        try:
            _check(catalogue, source, root, place.uri)
        except (ConfigError, SourceProblem):
            continue
        theirs = [other.path for other in catalogue.roots()]
        theirs += [path for _, path in _moved_along(catalogue, source, root, place.uri)]
        others = [item for item in items if not any(source.within(item.uri, path) for path in theirs)]
        if _same(catalogue.files(root.id), others, source):
            raise SourceProblem(
                f"{place.uri} has the files of {root.path}, which is gone",
                f"if it was moved, run `watersmeet relocate {quote(root.path)} {quote(place.uri)}`; "
                f"else remove the old one first: `watersmeet remove {quote(root.path)}`",
            )


def _same(states: Mapping[str, FileState], items: Sequence[Found], source: Source) -> bool:
    """Whether most files of both sides are equal: by name, and by time stamp or content."""
    larger = max(len(states), len(items))
    pairs = [(states[item.name], item) for item in items if item.name in states]
    if 2 * len(pairs) <= larger:
        return False
    return 2 * sum(_equal(state, item, source) for state, item in pairs) > larger


def _equal(state: FileState, item: Found, source: Source) -> bool:
    """Whether a file is the same. A stamp begins with size and time, which a move keeps; if only the time differs, the
    content is compared."""
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
