"""Which folders an index covers, and the sync of some of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, count

from watersmeet.core.errors import ConfigError, IndexDamaged, IndexMismatch, NotFound, SourceProblem
from watersmeet.core.indexing import Found, Skipped, Source
from watersmeet.core.model import DocId
from watersmeet.core.names import is_text, printable
from watersmeet.core.writing import Changes, Root, Writer
from watersmeet.engine.components import build
from watersmeet.engine.dates import Dates
from watersmeet.engine.parsers import endings, parsers
from watersmeet.engine.plugins import broken
from watersmeet.engine.relocate import gone_hint, moved_alone, refuse_copy, within
from watersmeet.engine.report import SyncReport, Tell
from watersmeet.engine.settings import Settings
from watersmeet.engine.sync import FolderSync, ending
from watersmeet.engine.writing import Writing, writing
from watersmeet.store.local._connect import FILE
from watersmeet.store.local.documents import DocumentsView

DEFAULT = "default"
"""The collection of what is given none, and of which nothing is said."""


def sync(
    folder: str,
    settings: Settings,
    paths: Sequence[str | os.PathLike[str]],
    collection: str,
    meta: Mapping[str, str],
    recreate: bool,
    tell: Tell,
) -> SyncReport:
    """Without paths: all that the index knows of. `recreate` reads all of that again, too."""
    if not all(map(os.fspath, paths)):
        raise ConfigError("an empty path was given", "is a variable not set? `watersmeet sync .` indexes this folder")
    for path in [os.fspath(path) for path in paths]:
        if "\0" in path or not is_text(path):
            raise SourceProblem(f"{printable(path)}: name is not valid UTF-8", "check its spelling, or rename it")
    places = list(dict.fromkeys(map(os.path.realpath, paths)))
    for place in places:
        if not os.path.exists(place):
            raise SourceProblem(f"{place} does not exist", "check the spelling of the path")
        if not is_text(place):
            raise SourceProblem(f"{printable(place)}: name is not valid UTF-8", "rename it")
    if not places and (collection or meta or not os.path.exists(os.path.join(folder, FILE))):
        raise ConfigError("no path was named", "say what to index: `watersmeet sync PATH`")
    report = SyncReport()
    report.warnings += [Skipped(f"plug-in {name}", f"{why}; {why.hint}") for name, why in broken("parse").items()]
    named = _readable(settings, places, report) if places else []
    if not named:
        _check_known(folder)
    with writing(folder, settings, recreate=recreate) as index:
        if index.catalogue.mended:
            report.warnings.append(Skipped(folder, "the words were lost and have been made again from the catalogue"))
        if index.catalogue.away:
            report.warnings.append(Skipped(folder, moved_alone(index.catalogue)))
        known = [] if named and not recreate else _there(index.catalogue.covered, report)
        for place in known:
            try:
                _sync_one(index, settings, place, "", {}, report, tell)
            except SourceProblem as problem:  # the others need not wait for it
                report.warnings.append(Skipped(place, str(problem)))
        others = named if collection or meta else [place for place in named if not within(place, known)]
        _sync_named(index, settings, others, collection, meta, report, tell)
        index.compact()
        report.documents, report.chunks = index.catalogue.counts()
    return report


def _sync_named(
    index: Writing,
    settings: Settings,
    places: Sequence[str],
    collection: str,
    meta: Mapping[str, str],
    report: SyncReport,
    tell: Tell,
) -> None:
    """What cannot be read, or is not to be read twice, is left out and said. If that is all, it is an error."""
    problems: dict[str, SourceProblem] = {}
    for place in places:
        try:
            _sync_one(index, settings, place, collection, meta, report, tell)
        except SourceProblem as problem:
            problems[place] = problem
    if problems and len(problems) == len(places):
        raise next(iter(problems.values()))
    report.warnings += [Skipped(place, f"{problem}; {problem.hint}") for place, problem in problems.items()]


def _check_known(folder: str) -> None:
    """Raise if an index cannot say which folders to read. Which they are is read once nobody else can change it."""
    try:
        with closing(DocumentsView(folder)) as view:
            roots = view.roots()
    except (IndexDamaged, IndexMismatch) as problem:
        raise type(problem)(
            f"{problem}; which folders it held cannot be read", "name them: `watersmeet sync PATH... --recreate`"
        ) from None
    if not roots:
        raise ConfigError("this index knows of no folder", "say what to index: `watersmeet sync PATH`")


def _there(roots: Sequence[str], report: SyncReport) -> list[str]:
    """The roots that there are. One that is gone is said to be."""
    gone = [path for path in roots if not os.path.exists(path)]
    report.warnings += [Skipped(path, f"it is gone; {gone_hint(path)}") for path in gone]
    return [path for path in roots if path not in gone]


def _readable(settings: Settings, places: Sequence[str], report: SyncReport) -> list[str]:
    """Without the files that cannot be read: they are no part of the index. If nothing is left, that is an error."""
    kept = []
    names = settings.section("index")
    source: Source = build("source", names.source, settings.of("source", names.source), endings=endings())
    for place in places:
        refused = [] if os.path.isdir(place) else [_refused(item) for item in source.scan(place)]
        report.skipped += [item for item in refused if item is not None]
        if not refused or None in refused:
            kept.append(place)
    if not kept:
        first = report.skipped[0]
        raise SourceProblem(f"{first.path}: {first.reason}", "name a folder, or a file of a kind that can be read")
    return kept


def _refused(item: Found | Skipped) -> Skipped | None:
    if isinstance(item, Found) and ending(item.name) not in endings():
        return Skipped(item.path, f"no parser reads this ending; known: {' '.join(endings())}")
    return item if isinstance(item, Skipped) else None


def _sync_one(
    index: Writing,
    settings: Settings,
    place: str,
    collection: str,
    meta: Mapping[str, str],
    report: SyncReport,
    tell: Tell,
) -> None:
    before = index.catalogue.roots()
    names = settings.section("index")
    source: Source = build("source", names.source, settings.of("source", names.source), endings=endings())
    root, scope = _root_for(index.catalogue, source, place, collection, meta, report)
    around = [other for other in before if other.path != place and within(place, [other.path])]
    if around and root.id not in [
        other.id for other in before
    ]:  # it has come back: what was read of it is no longer another's
        outer = max(around, key=lambda other: len(other.path))
        _read(index, settings, source, outer, _part(outer, place), place, report, tell)
    _read(index, settings, source, root, scope, place, report, tell)


def _read(
    index: Writing,
    settings: Settings,
    source: Source,
    root: Root,
    scope: str,
    place: str,
    report: SyncReport,
    tell: Tell,
) -> None:
    """Bring a root, or a part of it, up to date."""
    catalogue = index.catalogue
    names = settings.section("index")
    dates = Dates(names.dates)
    dated_by = f"dates.{root.id}"
    readers = parsers(settings)
    batch = index.batch()
    folder = FolderSync(
        catalogue=catalogue,
        batch=batch,
        source=source,
        parsers=readers,
        chunker=build("chunk", names.chunk, settings.of("chunk", names.chunk)),
        report=report,
        tell=tell,
        root=root,
        scope=scope,
        others=[other for other in catalogue.roots() if other.id != root.id],
        dates=dates,
        again=catalogue.meta().get(dated_by) != dates.rule,
    )
    batch.committed, batch.refused = folder.committed, folder.refused
    with catalogue.root_lease(root):
        folder.run(place)
    if folder.again and not scope:
        catalogue.set_meta({dated_by: dates.rule})


def _root_for(
    catalogue: Writer, source: Source, place: str, collection: str, meta: Mapping[str, str], report: SyncReport
) -> tuple[Root, str]:
    """The root that a place is or lies in, and which part of the root it is. One that was let go of comes back."""
    roots = catalogue.roots()
    around = [root for root in roots if within(place, [root.path])]
    root = max(around, key=lambda root: len(root.path), default=None)  # a root may lie in another
    if root and place == root.path:
        return _in_collection(catalogue, root, collection, meta), ""
    if root and place not in catalogue.former_roots():
        if collection or meta:
            raise ConfigError(f"{place} is part of {root.path}", "a collection is given to the whole of it")
        return root, _part(root, place)
    refuse_copy(catalogue, source, place)
    name, prefix = _called(catalogue, roots, place)
    for root in roots:
        if within(root.path, [place]):
            report.warnings.append(Skipped(root.path, "it is in this index already, and keeps its ids"))
    chosen = catalogue.collection(collection or (_unused(catalogue, name) if meta else DEFAULT), meta)
    return catalogue.add_root(place, name, chosen, prefix), ""


def _part(root: Root, place: str) -> str:
    """A place in a root, as a scope of it."""
    return os.path.relpath(place, root.path) + ("/" if os.path.isdir(place) else "")


def _called(catalogue: Writer, roots: Sequence[Root], place: str) -> tuple[str, str]:
    """A new root's name, and the prefix that its documents have from now on: none if it is the first.

    One that was let go of has again what it had. The name is nobody else's, and that of no folder or document that has
    no prefix in front of it.
    """
    former = catalogue.former_roots()
    if place in former:
        return former[place]
    name = os.path.basename(place) or "root"
    if not roots and not former:
        return name, ""
    taken = {root.name for root in roots} | catalogue.former_names()
    bare = [root.path for root in roots if not root.prefix]
    chosen = next(
        one
        for one in chain([name], (f"{name}-{number}" for number in count(2)))
        if one not in taken
        and not catalogue.begins(one)
        and not any(os.path.lexists(os.path.join(path, one)) for path in bare)
    )
    return chosen, f"{chosen}/"


def _in_collection(catalogue: Writer, root: Root, collection: str, meta: Mapping[str, str]) -> Root:
    if not collection and not meta:
        return root
    own = catalogue.collections()[root.collection]
    chosen = catalogue.collection(collection or (_unused(catalogue, root.name) if own == DEFAULT else own), meta)
    if chosen != root.collection:
        catalogue.set_root_collection(root.id, chosen)
    return replace(root, collection=chosen)


def _unused(catalogue: Writer, name: str) -> str:
    """A name for a collection that nobody else is in."""
    return _unique(name, {DEFAULT, *catalogue.collections().values()})


def _unique(name: str, taken: Collection[str]) -> str:
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(taken) + 3))) if n not in taken)


def remove(folder: str, settings: Settings, ids: Sequence[DocId]) -> int:
    """Documents by their ids, and whole folders by their names or paths."""
    with writing(folder, settings) as index:
        changes, roots = Changes(), []
        records = index.catalogue.records(changes.records.append)
        documents: dict[DocId, None] = {}
        tools: dict[DocId, None] = {}
        for identity in dict.fromkeys(ids):
            claim = index.catalogue.claimed(identity)
            if claim is True:
                raise ConfigError(f"{identity} is a tool of a registered server", "register the server without it")
            if claim is False:
                tools |= dict.fromkeys(index.catalogue.tools_of(identity))
                found = records.get(identity)
                if found is not None:
                    records.delete(identity, found.version)
            owner = index.catalogue.owner(identity)
            if owner is None:
                roots.append(_root_called(index.catalogue, identity))
                continue
            documents[identity] = None
            if owner[1] is not None:
                changes.stale.append(owner[1])
        for root in roots:
            files = index.catalogue.files(root.id).values()
            documents |= {name: None for state in files for name, _ in index.catalogue.documents_of(state.id)}
            changes.forgotten += [state.id for state in files]
        changes.removed = list(documents | tools)
        beginnings = [index.catalogue.beginnings(root) for root in roots]
        index.catalogue.commit(changes)
        for root, names in zip(roots, beginnings, strict=True):
            index.catalogue.drop_root(root, names)
    return len(documents)


def _root_called(catalogue: Writer, name: str) -> Root:
    if not name:
        raise ConfigError("an empty name was given", "is a variable not set? `watersmeet list` shows what there is")
    roots = catalogue.roots()
    paths = (os.path.realpath(name), os.path.abspath(name)) if is_text(name) and "\0" not in name else ()
    found = [root for root in roots if root.path in paths] or [root for root in roots if root.name == name.rstrip("/")]
    if found:
        return found[0]
    raise NotFound(f"no document or folder called {name!r}", "`watersmeet list` shows what there is")
