"""Roots of an index: the folders and addresses that it covers, and their sync."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain, count
from typing import cast

from watersmeet.core.errors import (
    ConfigError,
    IndexDamaged,
    IndexMismatch,
    IndexProblem,
    NotFound,
    SourceProblem,
    UnknownComponent,
    nearest,
)
from watersmeet.core.index import Index
from watersmeet.core.indexing import Found, Located, Skipped, Source, SourceRoot
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.system import slashed, trimmed
from watersmeet.core.writing import Changes, KnownRoot, Preview, Put, Root, Writer
from watersmeet.engine.index.writer import IndexWriter, open_for_writing, open_preview
from watersmeet.engine.plugins import broken
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.collections import UNCHANGED, Wanted, closed_inside, collection_of_new, in_collection
from watersmeet.engine.sync.dates import Dates
from watersmeet.engine.sync.formats import Formats, ParserVersions
from watersmeet.engine.sync.parsers import formats_hint, reader_of, readers
from watersmeet.engine.sync.readings import QUICK_SECONDS, fact_name, reading_of, refresh_seconds, to_fact
from watersmeet.engine.sync.relocate import gone_hint, moved_alone, refuse_copy
from watersmeet.engine.sync.report import Progress, ProgressCallback, SyncReport
from watersmeet.engine.sync.root_sync import RootSync, Sharing
from watersmeet.engine.sync.scan_record import record_scan
from watersmeet.engine.sync.sources import Sources, is_address
from watersmeet.engine.sync.spool import SpooledSource

FEW = 5
"""So many roots are named in a hint."""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """What a sync is to do besides reading what changed."""

    wanted: Wanted = UNCHANGED  # of the collection of the paths
    recreate: bool = False  # also read all roots again
    now: bool = False  # without paths, also read network roots that were read recently
    until: float = math.inf  # when to leave the rest to the next sync, by the monotonic clock
    max_pages: int = 0  # most pages of each site, now and later; 0: as before
    public_only: bool = False  # open no private address
    dry_run: bool = False  # report what would change, and write nothing
    on_put: Callable[[Put], None] = lambda put: None  # called for each document that is to be stored


def sync(
    index: Index,
    settings: Settings,
    paths: Sequence[str | os.PathLike[str]],
    options: SyncOptions,
    progress: ProgressCallback,
) -> SyncReport:
    """Sync these paths, or without paths all roots."""
    recreate = options.recreate
    if not all(map(os.fspath, paths)):
        raise ConfigError("an empty path was given", "is a variable not set? `watersmeet sync .` indexes this folder")
    if options.dry_run and recreate:
        raise ConfigError("a dry run cannot build the index anew", "leave out one of the two")
    if not paths and (options.wanted or not index.exists()):
        raise ConfigError("no path was given", "name what to index: `watersmeet sync PATH`")
    report = SyncReport()
    report.warnings += [Skipped(f"plug-in {name}", f"{why}; {why.hint}") for name, why in broken("parse").items()]
    sources = Sources(settings, options.public_only)
    requested = _requested(sources, [os.fspath(path) for path in paths], report) if paths else {}
    if not requested:
        _check_roots(index)
    with ExitStack() as stack:
        fresh = set() if requested or recreate or options.now else _fresh(index, sources)
        unprepared = _prepared(index, sources, requested, fresh, options, progress)
        fetched = _fetched(index, sources, requested, fresh, options, progress, stack)
        if not index.exists():
            _check_any(requested, unprepared, fetched)
        opening = (
            open_preview(index, settings) if options.dry_run else open_for_writing(index, settings, recreate=recreate)
        )
        opened = stack.enter_context(opening)
        opened.on_put = options.on_put
        formats = stack.enter_context(Formats(settings))
        run = _Run(index, opened, sources, formats, fetched, unprepared, fresh, report, progress, options)
        if opened.catalogue.mended:
            report.warnings.append(Skipped(index.place, "the text store was lost and was rebuilt from the catalogue"))
        if opened.catalogue.away:
            report.warnings.append(Skipped(index.place, moved_alone(opened.catalogue)))
        synced = [] if requested and not recreate else run.covered(opened.catalogue.covered)
        others = {
            uri: kind
            for uri, kind in requested.items()
            if options.wanted or not any(sources.of(kind).within(uri, place) for place in synced)
        }
        run.requested(others, options.wanted)
        opened.compact()
        report.documents, report.chunks = opened.catalogue.counts()
        report.planned = cast(Preview, opened.catalogue).planned if options.dry_run else None
    return report


def sync_parts(index: Index, settings: Settings, parts: Mapping[str, str], progress: ProgressCallback) -> SyncReport:
    """Sync parts of roots of the index: by root, a folder with a slash at the end, or empty for all of it.

    A part is read as a sync of its whole root would read it. Roots that are no longer in the index are left out."""
    report, sources = SyncReport(), Sources(settings)
    with open_for_writing(index, settings) as opened, Formats(settings) as formats:
        run = _Run(index, opened, sources, formats, {}, {}, (), report, progress, SyncOptions())
        for root in opened.catalogue.roots():
            if root.path in parts:
                try:
                    run.read(sources.of(root.kind), root, parts[root.path], root.path, by_root=True)
                except SourceProblem as problem:  # go on with the other roots
                    report.warnings.append(Skipped(root.path, str(problem)))
        opened.compact()
        report.documents, report.chunks = opened.catalogue.counts()
    return report


def _requested(sources: Sources, uris: Sequence[str], report: SyncReport) -> dict[str, str]:
    """Places to read, with the kind of source. Unreadable files are reported as skipped; if nothing is left, raises."""
    places: dict[str, tuple[str, Located]] = {}
    for uri in uris:
        kind, place = sources.locate(uri)
        if not place.exists:
            raise SourceProblem(f"{place.uri} does not exist", "check the spelling of the path")
        places[place.uri] = kind, place
    refused = {uri: item for uri, (_, place) in places.items() if (item := _refused(place.only)) is not None}
    report.skipped += refused.values()
    if len(refused) == len(places):
        first = report.skipped[0]
        raise SourceProblem(f"{first.path}: {first.reason}", f"name a folder or a file; {formats_hint()}")
    return {uri: kind for uri, (kind, _) in places.items() if uri not in refused}


def _refused(item: Found | Skipped | None) -> Skipped | None:
    if isinstance(item, Found) and reader_of(readers(), item) is None:
        return Skipped(item.uri, f"no parser reads this ending; {formats_hint()}")
    return item if isinstance(item, Skipped) else None


def _check_roots(index: Index) -> None:
    """Raise if the index has no readable list of roots. The roots themselves are read later, under the lock."""
    try:
        roots = index.root_places()
    except (IndexDamaged, IndexMismatch) as problem:
        raise type(problem)(
            f"{problem}; the list of its folders cannot be read", "name them: `watersmeet sync PATH... --recreate`"
        ) from None
    if not roots:
        raise ConfigError("this index covers no folder", "name what to index: `watersmeet sync PATH`")


def _fresh(index: Index, sources: Sources) -> set[str]:
    """Addresses of the network roots that were read so recently that they need not be read again."""
    seconds = refresh_seconds(sources.settings)
    known = index.known_roots(lambda root: sources.is_remote(root.kind, root.path)) if seconds else {}
    readings = {uri: reading_of(state.facts, state.root) for uri, state in known.items()}
    return {uri for uri, reading in readings.items() if reading.is_fresh(seconds) and not reading.failed}


def _fetched(
    index: Index,
    sources: Sources,
    requested: Mapping[str, str],
    fresh: Collection[str],
    options: SyncOptions,
    progress: ProgressCallback,
    stack: ExitStack,
) -> dict[str, SpooledSource]:
    """Spooled contents of slow sources, by address: read before the index is locked, deleted with the stack."""
    fetched: dict[str, SpooledSource] = {}
    slow = {uri: kind for uri, kind in requested.items() if sources.is_slow(kind)}
    if requested and not slow and not options.recreate:
        return fetched
    from tempfile import TemporaryDirectory  # lazy: few syncs need it

    indexed = index.known_roots(lambda root: sources.is_slow(root.kind))
    if not requested or options.recreate:
        slow |= {uri: state.root.kind for uri, state in indexed.items() if uri not in fresh}
    rule = Dates(sources.settings.section("index").dates).rule
    for uri, kind in slow.items():
        state = None if options.recreate else indexed.get(uri)
        again = state is None or state.facts.get(_dated_by(state.root)) != rule or _outdated(sources.settings, state)
        former = indexed.get(uri)  # a limit outlives --recreate
        limit = options.max_pages or int((former.facts.get(_limited_by(former.root)) or 0) if former else 0)
        place = stack.enter_context(TemporaryDirectory(prefix="watersmeet-"))
        fetched[uri] = SpooledSource(sources.of(kind), place, state.files if state else {}, again, limit)
        cursor = "" if again or state is None else state.root.cursor
        fetched[uri].fetch(SourceRoot(kind, uri, cursor, limit), progress)
        if options.recreate and uri in indexed:
            _refuse_loss(uri, fetched[uri].problem)
    return fetched


def _refuse_loss(uri: str, problem: SourceProblem | None) -> None:
    """Raise if a root of the index cannot be read: building it anew would lose its documents."""
    if problem is not None:
        raise SourceProblem(
            f"{uri} cannot be read, and building the index anew would lose its documents: {problem}",
            f"try again later, or remove it first: `watersmeet remove {uri}`",
        )


def _check_any(
    requested: Mapping[str, str], unprepared: Mapping[str, SourceProblem], fetched: Mapping[str, SpooledSource]
) -> None:
    """Raise if none of the requested addresses could be read, before an index is made for nothing."""
    problems = [unprepared.get(uri) or (fetched[uri].failure if uri in fetched else None) for uri in requested]
    if problems and (first := problems[0]) is not None and all(problems):
        raise first


def _prepared(
    index: Index,
    sources: Sources,
    requested: Mapping[str, str],
    fresh: Collection[str],
    options: SyncOptions,
    progress: ProgressCallback,
) -> dict[str, SourceProblem]:
    """Have sources fetch their copies, before the index is locked; returns what went wrong, by address."""
    indexed: dict[str, str] = {}
    if not requested or options.recreate:
        with suppress(IndexProblem):  # opening it reports why
            places = [uri for uri in index.root_places() if is_address(uri) and uri not in fresh]
            indexed = {uri: sources.kind_of(uri) for uri in places}
    problems: dict[str, SourceProblem] = {}
    for uri, kind in {**requested, **indexed}.items():
        try:
            sources.of(kind).prepare(
                SourceRoot(kind, uri), lambda doing, done, total: progress(Progress(doing, done, total, "objects"))
            )
        except SourceProblem as problem:
            if options.recreate and uri in indexed:
                _refuse_loss(uri, problem)
            problems[uri] = problem
        except UnknownComponent:  # reported when it is read
            continue
    return problems


def _outdated(settings: Settings, state: KnownRoot) -> bool:
    """Whether files of a root would be parsed otherwise now. Which they are is known only once they are fetched."""
    return bool(ParserVersions.of(settings, state.facts.get(_parsed_by(state.root))).outdated())


def _dated_by(root: Root) -> str:
    """Name of the fact with the dating rule of a root."""
    return f"dates.{root.id}"


def _limited_by(root: Root) -> str:
    """Name of the fact with the most pages of a root, if a flag has said so."""
    return f"max_pages.{root.id}"


def _parsed_by(root: Root) -> str:
    """Name of the fact with the parsers that read the files of a root."""
    return f"parsers.{root.id}"


@dataclass(slots=True)
class _Run:
    """A running sync, with the index open for writing."""

    place: Index
    index: IndexWriter
    sources: Sources
    formats: Formats
    fetched: Mapping[str, SpooledSource]
    unprepared: Mapping[str, SourceProblem]
    fresh: Collection[str]
    report: SyncReport
    progress: ProgressCallback
    options: SyncOptions

    def covered(self, uris: Sequence[str]) -> list[str]:
        """Sync roots of the index that exist, and return them; missing ones become warnings."""
        kinds = {root.path: root.kind for root in self.index.catalogue.roots()}
        existing = []
        for uri in uris:
            try:
                kind, place = self.sources.locate(uri, kinds.get(uri, ""))
                if not place.exists:
                    self.report.warnings.append(Skipped(uri, f"it does not exist; {gone_hint(uri)}"))
                    continue
                existing.append(uri)
                if uri in self.fresh:
                    self.report.fresh.append(uri)
                    self._keep(uri)
                    continue
                self.one(uri, kind, UNCHANGED)
            except (SourceProblem, UnknownComponent) as problem:  # go on with the other roots
                self.report.warnings.append(Skipped(uri, str(problem)))
                self._keep(uri)
                self._failed(uri, str(problem))
        return existing

    def _keep(self, uri: str) -> None:
        """Count the documents of a root that is not read as unchanged."""
        catalogue = self.index.catalogue
        for root in catalogue.roots():
            if root.path == uri:
                self.report.unchanged += sum(
                    catalogue.count_of(state.id) for state in catalogue.files(root.id).values()
                )

    def _failed(self, uri: str, problem: str) -> None:
        """Record that a root could not be read, if it is one of the index: its documents stay."""
        for root in self.index.catalogue.roots():
            if root.path == uri:
                self._record(root, problem, failed=True)

    def _record(self, root: Root, problem: str, failed: bool) -> None:
        """Record a reading. Of a folder without a problem, not every one: it may be synced every few seconds. What a
        caller was refused is no problem of the root."""
        if failed and self.options.public_only:
            return
        before = reading_of(self.index.catalogue.meta(), root)
        quick = not self.sources.is_remote(root.kind, root.path)
        if quick and not failed and before.problem == problem and before.is_fresh(QUICK_SECONDS):
            return
        self.index.catalogue.set_meta(to_fact(root, before.after(problem, failed)))

    def requested(self, places: Mapping[str, str], wanted: Wanted) -> None:
        """Sync requested places; those that cannot be read become warnings, unless all fail."""
        problems: dict[str, SourceProblem] = {}
        for uri, kind in places.items():
            try:
                self.one(uri, kind, wanted)
            except SourceProblem as problem:
                problems[uri] = problem
                self._failed(uri, str(problem))
        if problems and len(problems) == len(places):
            raise next(iter(problems.values()))
        self.report.warnings += [Skipped(uri, f"{problem}; {problem.hint}") for uri, problem in problems.items()]

    def one(self, uri: str, kind: str, wanted: Wanted) -> None:
        if uri in self.unprepared:
            raise self.unprepared[uri]
        source = self.sources.of(kind)
        if source.slow and uri not in self.fetched:
            self.report.warnings.append(
                Skipped(uri, "it was added by another process meanwhile; the next sync reads it")
            )
            return
        before = self.index.catalogue.roots()
        if source.slow:
            spooled = self.fetched[uri]
            if spooled.failure is not None:
                raise spooled.failure
            if spooled.before and uri not in {root.path for root in before}:
                reason = "it was removed by another process meanwhile; sync it again to add it"
                self.report.warnings.append(Skipped(uri, reason))
                return
        root, scope = _root_for(self.index.catalogue, source, SourceRoot(kind, uri), wanted, self.report)
        around = [other for other in before if other.path != uri and _lies_in(source, kind, uri, other)]
        if around and root.id not in [other.id for other in before]:
            # a former root is added again: the outer root gives up its files
            outer = max(around, key=lambda other: len(other.path))
            self.read(source, outer, _part(source, outer, uri), uri)
        self.read(source, root, scope, uri)

    def _sharing(self, source: Source, spooled: SpooledSource | None) -> Sharing | None:
        """Other workers that read along, if the index has a queue for them."""
        if spooled is not None or self.options.dry_run or not hasattr(self.place, "queue"):
            return None
        from watersmeet.engine.sync.slices import SharedReading  # only for an index on servers

        return SharedReading.of(self.place, self.sources.settings, self.formats, source, self.index.catalogue)

    def read(self, source: Source, root: Root, scope: str, uri: str, by_root: bool = False) -> None:
        """Sync a root, or a part of it; `by_root`: a part as a sync of the whole root would read it."""
        catalogue, settings = self.index.catalogue, self.sources.settings
        names = settings.section("index")
        dates = Dates(names.dates)
        spooled = self.fetched.get(uri)
        again = spooled.again if spooled else catalogue.meta().get(_dated_by(root)) != dates.rule
        batch = self.index.batch()
        versions = ParserVersions.of(settings, catalogue.meta().get(_parsed_by(root)))
        run = RootSync(
            catalogue=catalogue,
            batch=batch,
            source=spooled or source,
            formats=self.formats,
            outdated=versions.outdated(),
            report=self.report,
            progress=self.progress,
            root=root,
            scope=scope,
            by_root=by_root,
            others=[other for other in catalogue.roots() if other.id != root.id],
            closed=closed_inside(catalogue, source, root),
            dates=dates,
            again=again,
            before=spooled.before if spooled else None,
            read_at=spooled.began if spooled else 0,
            sharing=self._sharing(source, spooled),
            until=self.options.until,
        )
        batch.committed, batch.refused = run.committed, run.refused
        facts = {_dated_by(root): dates.rule} if again else {}
        with catalogue.root_lease(root):
            if again and not scope and not catalogue.files(root.id):
                # a new root: if this sync is stopped, the next need not read these files again
                catalogue.set_meta(facts | {_parsed_by(root): versions.to_record()})
            run.run(uri)
        if not scope:
            facts |= {_parsed_by(root): versions.to_record()} if run.all_read else {}
            facts |= {_limited_by(root): str(spooled.limit)} if spooled and spooled.limit else {}
            catalogue.set_meta(facts)
            if not run.cut:
                self._record(root, run.problem, run.failed)
        if source.watchable and (by_root or not scope) and not run.cut:
            record_scan(catalogue, settings, root, scope, run.unread)


def _root_for(
    catalogue: Writer,
    source: Source,
    place: SourceRoot,
    wanted: Wanted,
    report: SyncReport,
) -> tuple[Root, str]:
    """The root of a place and its scope there; a new root if there is none, or if the place was a root before."""
    roots, uri = catalogue.roots(), place.uri
    around = [root for root in roots if _lies_in(source, place.kind, uri, root)]
    root = max(around, key=lambda root: len(root.path), default=None)  # roots may be nested
    if root and uri == root.path:
        return in_collection(catalogue, root, wanted), ""
    if root and uri not in catalogue.former_roots():
        if wanted:
            raise ConfigError(f"{uri} is part of {root.path}", "set collection, metadata or audience for all of it")
        return root, _part(source, root, uri)
    for other in roots:
        if other.kind == place.kind and source.supersedes(uri, other.path):
            catalogue.relocate([(other, uri)])
            return in_collection(catalogue, replace(other, path=uri), wanted), ""
    refuse_copy(catalogue, source, place)
    name, prefix = _name_and_prefix(catalogue, source, place, roots)
    for root in roots:
        if root.kind == place.kind and source.within(root.path, uri):
            report.warnings.append(Skipped(root.path, "it is in this index already; its documents keep their ids"))
    chosen = collection_of_new(catalogue, source, uri, source.locate(uri).collection, name, wanted)
    return catalogue.add_root(uri, name, chosen, prefix, place.kind), ""


def _lies_in(source: Source, kind: str, uri: str, root: Root) -> bool:
    """Whether a place is a root, or a part of one that can be read separately."""
    return uri == root.path or (kind == root.kind and not source.slow and source.within(uri, root.path))


def _part(source: Source, root: Root, uri: str) -> str:
    """The scope of a place in a root."""
    return slashed(uri[len(trimmed(root.path)) + 1 :]) + ("/" if source.locate(uri).only is None else "")


def _name_and_prefix(catalogue: Writer, source: Source, place: SourceRoot, roots: Sequence[Root]) -> tuple[str, str]:
    """The name of a new root, and the prefix of its documents: none for the first root.

    A former root gets its former ones. The name differs from those of other roots, and from folders and documents
    without a prefix.
    """
    former = catalogue.former_roots()
    if place.uri in former:
        return former[place.uri]
    name = source.locate(place.uri).name
    if not roots and not former:
        return name, ""
    taken = {root.name for root in roots} | catalogue.former_names()
    bare = [root.path for root in roots if not root.prefix and root.kind == place.kind]
    chosen = next(
        one
        for one in chain([name], (f"{name}-{number}" for number in count(2)))
        if one not in taken and not catalogue.begins(one) and not any(source.holds(path, one) for path in bare)
    )
    return chosen, f"{chosen}/"


def remove(index: Index, settings: Settings, ids: Sequence[DocId]) -> int:
    """Remove documents by id, and roots by name or path; returns the number of documents."""
    with open_for_writing(index, settings) as opened:
        changes, roots = Changes(), []
        records = opened.catalogue.records(changes.records.append)
        documents: dict[DocId, None] = {}
        tools: dict[DocId, None] = {}
        for identity in dict.fromkeys(ids):
            claim = opened.catalogue.claimed(identity)
            if claim is True:
                raise ConfigError(f"{identity} is a tool of a registered server", "register the server without it")
            if claim is False:
                tools |= dict.fromkeys(opened.catalogue.tools_of(identity))
                found = records.get(identity)
                if found is not None:
                    records.delete(identity, found.version)
            owner = opened.catalogue.owner(identity)
            if owner is None:
                roots.append(_root_named(opened.catalogue, Sources(settings), identity))
                continue
            documents[identity] = None
            if owner[1] is not None:
                changes.stale.append(owner[1])
        for root in roots:
            files = opened.catalogue.files(root.id).values()
            documents |= {name: None for state in files for name, _ in opened.catalogue.documents_of(state.id)}
            changes.forgotten += [state.id for state in files]
        changes.removed = list(documents | tools)
        beginnings = [opened.catalogue.beginnings(root) for root in roots]
        opened.catalogue.commit(changes)
        for root, names in zip(roots, beginnings, strict=True):
            opened.catalogue.drop_root(root, names)
            opened.catalogue.set_meta({fact_name(root): ""})  # a later root may get its number
    return len(documents)


def _root_named(catalogue: Writer, sources: Sources, name: str) -> Root:
    if not name:
        raise ConfigError("an empty name was given", "is a variable not set? `watersmeet list` shows all documents")
    roots = catalogue.roots()
    spellings = {name}
    with suppress(SourceProblem, UnknownComponent):  # not a path or an address of this machine's sources
        _, place = sources.locate(name)
        spellings |= {place.uri, *place.spellings}
    bare = trimmed(name)
    for root in roots:
        if root.path in spellings:
            return root
    for root in roots if bare else ():
        if bare in (trimmed(root.path), root.name, trimmed(root.prefix)):
            return root
    near = nearest(name, [one for root in roots for one in (root.path, root.name)]) if 0 < len(roots) <= FEW else ""
    lists = "`watersmeet list` shows all documents, `watersmeet list --roots` the folders and addresses"
    raise NotFound(f"no document, folder or address called {name!r}", "; ".join(filter(None, (near, lists))))
