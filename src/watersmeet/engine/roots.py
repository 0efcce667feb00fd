"""Which folders an index covers, and the sync of some of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from shlex import quote

from watersmeet.core.errors import ConfigError, IndexDamaged, IndexMismatch, NotFound, SourceProblem
from watersmeet.core.indexing import Found, Parser, Skipped, Source
from watersmeet.core.model import DocId
from watersmeet.engine.batch import Batch
from watersmeet.engine.components import build
from watersmeet.engine.dates import Dates
from watersmeet.engine.report import SyncReport, Tell
from watersmeet.engine.settings import Settings
from watersmeet.engine.sync import FolderSync, ending
from watersmeet.engine.writing import Writing, writing
from watersmeet.store._connect import FILE
from watersmeet.store.catalogue import Catalogue, Changes, Root
from watersmeet.store.registered import claimed, tools_of

PARSERS = {
    "md": "markdown",
    "markdown": "markdown",
    "mdx": "markdown",
    "txt": "text",
    "rst": "text",
    "jsonl": "jsonl",
}
"""Which parser reads which ending."""
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
    places = list(dict.fromkeys(map(os.path.realpath, paths)))
    for place in places:
        if not os.path.exists(place):
            raise SourceProblem(f"{place} does not exist", "check the spelling of the path")
    if not places and (collection or meta or not os.path.exists(os.path.join(folder, FILE))):
        raise ConfigError("no path was named", "say what to index: `watersmeet sync PATH`")
    report = SyncReport()
    named = _readable(settings, places, report) if places else []
    known = [] if named and not recreate else _known(folder, bool(named), recreate, report)
    with writing(folder, settings, recreate=recreate) as index:
        if index.mended:
            report.warnings.append(Skipped(folder, "the words were lost and have been made again from the catalogue"))
        for place in known:
            try:
                _sync_one(index, settings, place, "", {}, report, tell)
            except SourceProblem as problem:  # the others need not wait for it
                report.warnings.append(Skipped(place, str(problem)))
        for place in named if collection or meta else [place for place in named if not _within(place, known)]:
            _sync_one(index, settings, place, collection, meta, report, tell)
        index.compact()
        report.documents, report.chunks = index.catalogue.counts()
    return report


def _known(folder: str, named: bool, recreate: bool, report: SyncReport) -> list[str]:
    """The roots that there are. One that is gone is said to be; nothing is begun anew that could not be read again."""
    if not os.path.exists(os.path.join(folder, FILE)):
        return []
    try:
        with closing(Catalogue(folder)) as catalogue:
            roots = [root.path for root in catalogue.roots()]
    except (IndexDamaged, IndexMismatch) as problem:
        if named:
            return []
        raise type(problem)(
            f"{problem}; which folders it held cannot be read", "name them: `watersmeet sync PATH... --recreate`"
        ) from None
    gone = [path for path in roots if not os.path.exists(path)]
    if gone and recreate:
        raise SourceProblem(f"{gone[0]} is gone", f"mount it, or let go of it: `watersmeet remove {quote(gone[0])}`")
    for path in gone:
        reason = f"it is gone; `watersmeet remove {quote(path)}` forgets what was read from it"
        report.warnings.append(Skipped(path, reason))
    if not roots and not named:
        raise ConfigError("this index knows of no folder", "say what to index: `watersmeet sync PATH`")
    return [path for path in roots if path not in gone]


def _within(place: str, folders: Sequence[str]) -> bool:
    return any(place == folder or place.startswith(folder.rstrip("/") + "/") for folder in folders)


def _readable(settings: Settings, places: Sequence[str], report: SyncReport) -> list[str]:
    """Without the files that cannot be read: they are no part of the index. If nothing is left, that is an error."""
    kept = []
    names = settings.section("index")
    source: Source = build("source", names.source, settings.of("source", names.source))
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
    if isinstance(item, Found) and ending(item.name) not in PARSERS:
        return Skipped(item.path, f"no parser reads this ending; known: {' '.join(f'.{known}' for known in PARSERS)}")
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
    catalogue = index.catalogue
    root, scope = _root_for(catalogue, place, collection, meta)
    names = settings.section("index")
    readers = parsers(settings)
    batch = Batch(catalogue, index.text, index.settings.batch_chunks, index.settings.batch_seconds)
    folder = FolderSync(
        catalogue=catalogue,
        batch=batch,
        source=build("source", names.source, settings.of("source", names.source)),
        parsers=readers,
        chunker=build("chunk", names.chunk, settings.of("chunk", names.chunk)),
        report=report,
        tell=tell,
        root=root,
        prefix=f"{root.name}/" if len(catalogue.roots()) > 1 else "",
        scope=scope,
        dates=Dates(names.dates),
    )
    batch.committed = folder.committed
    folder.run(place)


def parsers(settings: Settings) -> dict[str, Parser]:
    made = {name: build("parse", name, settings.of("parse", name)) for name in set(PARSERS.values())}
    return {ending: made[name] for ending, name in PARSERS.items()}


def _root_for(catalogue: Catalogue, place: str, collection: str, meta: Mapping[str, str]) -> tuple[Root, str]:
    """The root that a place is or lies in, and which part of the root it is."""
    roots = catalogue.roots()
    for root in roots:
        if _within(place, [root.path]):
            if place == root.path:
                return _in_collection(catalogue, root, collection, meta), ""
            if collection or meta:
                raise ConfigError(f"{place} is part of {root.path}", "a collection is given to the whole of it")
            return root, os.path.relpath(place, root.path) + ("/" if os.path.isdir(place) else "")
    inside = [root for root in roots if _within(root.path, [place])]
    names = catalogue.collections()
    own = [root for root in inside if names[root.collection] != DEFAULT]
    if own and not collection:
        name, of = names[own[0].collection], own[0].path
        raise ConfigError(
            f"{of} lies inside, and is in a collection of its own, {name!r}",
            f"give the whole a collection with --collection, or let go of it: `watersmeet remove {quote(of)}`",
        )
    others = [root for root in roots if root not in inside]
    taken = {root.name for root in others}
    name = os.path.basename(place) or "root"
    unique = _unique(name, taken)
    renamed, files = _taken_over(catalogue, inside, place, f"{unique}/" if others else "")
    if len(roots) == len(others) == 1:
        renamed = _told_apart(catalogue, others[0])
    chosen = catalogue.collection(collection or (_unused(catalogue, unique) if meta else DEFAULT), meta)
    return catalogue.add_root(place, unique, chosen, renamed, files, inside), ""


def _in_collection(catalogue: Catalogue, root: Root, collection: str, meta: Mapping[str, str]) -> Root:
    if not collection and not meta:
        return root
    own = catalogue.collections()[root.collection]
    chosen = catalogue.collection(collection or (_unused(catalogue, root.name) if own == DEFAULT else own), meta)
    if chosen != root.collection:
        catalogue.set_root_collection(root.id, chosen)
    return replace(root, collection=chosen)


def _unused(catalogue: Catalogue, name: str) -> str:
    """A name for a collection that nobody else is in."""
    return _unique(name, {DEFAULT, *catalogue.collections().values()})


def _unique(name: str, taken: Collection[str]) -> str:
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(taken) + 3))) if n not in taken)


def _taken_over(
    catalogue: Catalogue, inside: Sequence[Root], place: str, prefix: str
) -> tuple[dict[DocId, DocId], dict[int, str]]:
    """Roots inside a new one become part of it: what their documents and files are called from now on."""
    documents: dict[DocId, DocId] = {}
    files: dict[int, str] = {}
    for root in inside:
        folder = root.path if os.path.isdir(root.path) else os.path.dirname(root.path)
        for state in catalogue.files(root.id).values():
            files[state.id] = os.path.relpath(os.path.join(folder, state.name), place)
            for document, _ in catalogue.documents_of(state.id):
                if document in (state.name, f"{root.name}/{state.name}"):
                    documents[document] = DocId(prefix + files[state.id])
    return documents, files


def _told_apart(catalogue: Catalogue, root: Root, alone: bool = False) -> dict[DocId, DocId]:
    """A second root is about to come: the first one's documents get its name in front. Or it is `alone` again."""
    front = f"{root.name}/"
    before, after = (front, "") if alone else ("", front)
    return {
        document: DocId(after + state.name)
        for state in catalogue.files(root.id).values()
        for document, _ in catalogue.documents_of(state.id)
        if document == before + state.name
    }


def remove(folder: str, settings: Settings, ids: Sequence[DocId]) -> int:
    """Documents by their ids, and whole folders by their names or paths."""
    with writing(folder, settings) as index:
        changes, roots = Changes(), []
        documents: dict[DocId, None] = {}
        tools: dict[DocId, None] = {}
        for identity in dict.fromkeys(ids):
            claim = claimed(index.catalogue, identity)
            if claim is True:
                raise ConfigError(f"{identity} is a tool of a registered server", "register the server without it")
            if claim is False:
                tools |= dict.fromkeys(tools_of(index.catalogue, identity))
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
        index.catalogue.apply(changes)
        for root in roots:
            others = [other for other in index.catalogue.roots() if other != root]
            renamed = _told_apart(index.catalogue, others[0], alone=True) if len(others) == 1 else {}
            index.catalogue.drop_root(root, renamed)
    return len(documents)


def _root_called(catalogue: Catalogue, name: str) -> Root:
    if not name:
        raise ConfigError("an empty name was given", "is a variable not set? `watersmeet list` shows what there is")
    roots = catalogue.roots()
    paths = (os.path.realpath(name), os.path.abspath(name))
    found = [root for root in roots if root.path in paths] or [root for root in roots if root.name == name.rstrip("/")]
    if found:
        return found[0]
    raise NotFound(f"no document or folder called {name!r}", "`watersmeet list` shows what there is")
