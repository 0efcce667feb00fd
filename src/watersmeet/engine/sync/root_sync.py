"""Sync of one root: reads changed files, keeps unchanged ones, and removes missing ones."""

from __future__ import annotations

import io
import math
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Any, Protocol

from watersmeet.core.documents import Document
from watersmeet.core.errors import ReaderFailed, SourceProblem
from watersmeet.core.indexing import (
    Content,
    Cut,
    Found,
    Gone,
    Note,
    Offer,
    Pending,
    Same,
    Skipped,
    Source,
    SourceRoot,
    Whole,
)
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.names import CREATED
from watersmeet.core.spill import Spill
from watersmeet.core.system import slashed, trimmed
from watersmeet.core.text_fields import Prepared, digest_of, document_hash, prepare
from watersmeet.core.visibility import OWN_AUDIENCE
from watersmeet.core.writing import FileState, Put, Root, Writer
from watersmeet.engine.sync.batch import Batch
from watersmeet.engine.sync.dates import DEFAULT, Dates
from watersmeet.engine.sync.formats import Format, Formats, install_hint
from watersmeet.engine.sync.parsers import ending, form_of, parse_safely, readers
from watersmeet.engine.sync.report import Progress, ProgressCallback, SyncReport, WarningList
from watersmeet.parse._values import created as stated_created
from watersmeet.parse._values import modified as stated_modified
from watersmeet.present.reassemble import LEVELS, OVERLAP, irregular_levels

TICK_NS = 2_000_000_000
"""A file changed less than this before it was read may change again and keep its time stamp."""
MIN_SHARED = 65
"""Fewer files are read by one process: a slice takes longer to offer than to read."""
SET_HERE = (LEVELS, OVERLAP, CREATED, OWN_AUDIENCE)
"""Fields that no file can set."""
REST_KEPT = "documents that it did not reach are kept unchanged"


def unchanged(state: FileState | None, item: Found) -> bool:
    """Whether an item need not be read, since its stamp proves that it is unchanged."""
    if state is None or not item.stamp or state.stamp != item.stamp:
        return False
    return item.sure or (item.modified is not None and item.modified.timestamp() * 1e9 < state.read_ns - TICK_NS)


@dataclass(slots=True)
class _Scan:
    """The result of a scan, by name below the root."""

    found: dict[str, Found] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)
    stamps: dict[str, str] = field(default_factory=dict)  # new stamps of unchanged items
    gone: set[str] = field(default_factory=set)
    whole: Whole | None = None

    def lost(self, name: str) -> bool:
        return name in self.gone or (self.whole is not None and name not in self.found and name not in self.same)

    def leave_out(self, name: str) -> None:
        self.found.pop(name, None)
        self.stamps.pop(name, None)
        self.gone.discard(name)
        self.same.add(name)


class Sharing(Protocol):
    """Reading of many files by several workers."""

    def read(self, run: RootSync, changed: Sequence[Found], moved: Mapping[str, FileState], until: float) -> int: ...


@dataclass(slots=True)
class RootSync:
    """Syncs one root, or the part `scope` of it."""

    catalogue: Writer
    batch: Batch
    source: Source
    formats: Formats
    report: SyncReport
    progress: ProgressCallback
    root: Root
    scope: str = ""  # empty: all; else a folder with a slash at the end, or one file
    by_root: bool = False  # the scope is listed by the rules of the whole root, not as if it were a root itself
    others: Sequence[Root] = ()  # other roots; files in them belong to them
    closed: Mapping[str, str] = field(default_factory=dict)  # places for others, with their collection
    dates: Dates = field(default_factory=lambda: Dates(DEFAULT))
    again: bool = False  # read every file, also unchanged ones
    outdated: Collection[str] = ()  # forms of file that another parser has read before
    before: Mapping[str, FileState] | None = None  # file states when the source was read, if that was earlier
    read_at: int = 0  # ... and when that was, in ns
    sharing: Sharing | None = None  # by whom many files are read, if not by this process alone
    until: float = math.inf  # when to leave the rest to the next sync, by the monotonic clock
    all_read: bool = True  # whether no file was left for the next sync
    problem: str = ""  # why the scan ended early, if it did
    failed: bool = False  # ... and whether that was an error
    cut: bool = False  # whether the time was over before all files were read
    unread: list[str] = field(default_factory=list)  # files that were offered and not read
    _missing: dict[bytes, list[FileState]] = field(default_factory=dict)
    _put: Spill[str] = field(default_factory=Spill)  # file name by document id, of all documents read
    _gone: Spill[str] = field(default_factory=Spill)
    _refused: Spill[str] = field(default_factory=Spill)
    _refusals: dict[str, tuple[Found, list[Skipped]]] = field(default_factory=dict)
    _closed: list[str] = field(default_factory=list)
    _done: int = 0
    _total: int = 0
    _before: int = 0

    def run(self, uri: str) -> None:
        states = {n: f for n, f in self.catalogue.files(self.root.id).items() if self._in_scope(n)}
        scan = self._scan(uri, states)
        self._report_around(uri, states)
        self._leave_to_others(scan, states)
        for name, lost in states.items():
            if scan.lost(name) and not self._out_of_reach(name, uri):
                self._missing.setdefault(lost.hash, []).append(lost)
        changed = []
        for item in scan.found.values():
            if not self.again and not self._outdated(item) and unchanged(states.get(item.name), item):
                scan.same.add(item.name)
            else:
                changed.append(item)
        self.report.unchanged += sum(self.catalogue.count_of(states[name].id) for name in scan.same & states.keys())
        for name in scan.stamps.keys() & scan.same & states.keys():
            state = states[name]
            self.batch.file(self.root.id, Found(name, uri, scan.stamps[name]), state.hash, state.read_ns)
        self._total, self._before = len(changed), len(scan.same & states.keys())
        self.dates.dating = self.source.dating(changed)
        self.progress(Progress("reading", 0, self._total, self.source.unit, self._before))
        until = math.inf if states and (self.again or self.outdated) else self.until  # else the next would begin anew
        if left := self._read_all(changed, states, until):
            self._leave(left)
            return
        self._report_without_extra(changed, uri)
        for lost_files in self._missing.values():
            for state in lost_files:
                self._forget(state)
        self._try_again()
        if scan.whole and self.all_read and not self.scope:
            self.batch.cursor(self.root.id, scan.whole.cursor)
        self.batch.commit(last=True)

    def _read_all(self, changed: Sequence[Found], states: Mapping[str, FileState], until: float) -> int:
        """Read files, by several workers if they are many; returns how many are left since the time is over."""
        if self.sharing is not None and len(changed) >= MIN_SHARED:
            moved = self._moved(changed, states)
            self.batch.commit()
            left = self.sharing.read(self, changed, moved, until)
            for state in moved.values():
                self._missing.setdefault(state.hash, []).append(state)
            if not left:
                self._free_ids()
            return left
        for number, item in enumerate(changed):
            if number and time.monotonic() > until:
                return len(changed) - number
            self._read(item, states.get(item.name))
            self.batch.maybe_commit()
        return 0

    def _moved(self, changed: Sequence[Found], states: Mapping[str, FileState]) -> dict[str, FileState]:
        """Missing files with the contents of new ones, by the names of these."""
        moved: dict[str, FileState] = {}
        for item in changed if self._missing else ():
            content = self._open(item) if item.name not in states else Skipped("", "")
            if not isinstance(content, Skipped):
                with content.stream:
                    hash = _hash(content, item)
                if hash is not None and (source := self._moved_here(hash)) is not None:
                    moved[item.name] = source
        return moved

    def _free_ids(self) -> None:
        """Read files again whose documents had ids that are free, or become so now, after all slices were read."""
        missing = {state.id for states in self._missing.values() for state in states}
        for identity, name in self._refused.items():
            owner = self.catalogue.owner(DocId(identity))
            if owner is None or owner[1] in missing:
                self._gone[identity] = name
        self._try_again()
        self._refused, self._refusals = Spill(), {}

    # ------------------------------------------------------------ slices

    def read(self, items: Sequence[Found], states: Mapping[str, FileState], moved: Sequence[FileState]) -> None:
        """Read only these files. `moved`: missing files with the content of one of them."""
        for state in moved:
            self._missing.setdefault(state.hash, []).append(state)
        for number, item in enumerate(items):
            self.progress(Progress("reading", number, len(items), self.source.unit))
            self._read(item, states.get(item.name))
            self.batch.maybe_commit()
        self._done = len(items)
        self.batch.commit(last=True)

    def result(self, refused: Sequence[Put]) -> dict[str, Any]:
        """What was read, for the sync that this is a part of."""
        for put in refused:
            self.refused(put)
            self.report.added -= 1
        return {
            "report": self.report.to_json(),
            "unread": self.unread,
            "all_read": self.all_read,
            "refused": dict(self._refused.items()),
            "refusals": {name: [one.reason for one in found] for name, (_, found) in self._refusals.items()},
            "put": {identity: name for identity, name in self._put.items() if name in self._refusals},
        }

    def add(self, result: Mapping[str, Any], items: Mapping[str, Found]) -> None:
        """Add what a slice has read."""
        self.report.add(result["report"])
        self.unread += result["unread"]
        self.all_read = self.all_read and result["all_read"]
        for names, found in ((self._refused, result["refused"]), (self._put, result["put"])):
            for identity, name in found.items():
                names[identity] = name
        for name, reasons in result["refusals"].items():
            self._refusals[name] = items[name], [Skipped(items[name].uri, reason) for reason in reasons]

    # ------------------------------------------------------------ what is left

    def _leave(self, files: int) -> None:
        """Commit what was read, and leave so many files to the next sync. Nothing counts as deleted."""
        self.all_read, self.cut = False, True
        self.report.left += files
        self.batch.commit()

    def _leave_to_others(self, scan: _Scan, states: Mapping[str, FileState]) -> None:
        """Skip files that another writer has read since the source was scanned; the next sync reads them."""
        before = states if self.before is None else self.before
        others = [name for name in {*states, *before} if states.get(name) != before.get(name)]
        for name in others:
            scan.leave_out(name)
        if others:
            self.all_read = False
            self.report.warnings.append(
                Skipped(
                    self.root.path,
                    f"{len(others)} files were synced by another process meanwhile, and are left unchanged",
                )
            )

    def _try_again(self) -> None:
        """Read again files with a document id that belonged to another file then, and is free now."""
        names = {name for identity, name in self._refused.items() if identity in self._gone} if self._gone else set()
        if not names:
            return
        self.batch.commit()
        again = {name: refusal for name, refusal in self._refusals.items() if name in names}
        for _, refusals in again.values():
            for skipped in refusals:
                self.report.skipped.remove(skipped)
        read_before = [identity for identity, name in self._put.items() if name in names]
        for identity in read_before:
            self._put.pop(identity)
        self.report.unchanged -= len(read_before)  # they are counted again now
        states = self.catalogue.files(self.root.id)
        for name, (item, _) in again.items():
            self._read(item, states.get(name))

    def _in_scope(self, name: str) -> bool:
        return name.startswith(self.scope) if self.scope.endswith("/") else self.scope in ("", name)

    def _below(self, name: str) -> str:
        """A name below the root, as a scan of the scope names it."""
        if self.by_root:
            return name
        return name.removeprefix(self.scope) if self.scope.endswith("/") else name.rpartition("/")[2]

    def committed(self, files: int) -> None:
        """A callback of the batch: this many more files are committed."""
        self._done += files
        self.progress(Progress("committed", self._done, self._total, self.source.unit, self._before))

    def refused(self, put: Put) -> None:
        """A callback of the batch for a document whose id another process has taken meanwhile."""
        self.report.skipped.append(Skipped(put.document.path, self._taken_reason(put.document.id)))

    def _scan(self, uri: str, states: Mapping[str, FileState]) -> _Scan:
        scan = _Scan()
        missing: dict[tuple[str, str], Counter[str]] = {}
        stamps = {self._below(n) if self.scope else n: state.stamp for n, state in states.items() if state.stamp}
        theirs = [o.path for o in self.others if o.kind == self.root.kind and self.source.within(o.path, uri)]
        self._report_closed(uri)
        start = SourceRoot(self.root.kind, uri, "" if self.again else self.root.cursor)
        for item in self._offers(start, {} if self.again else stamps):
            if isinstance(item, Whole):
                scan.whole = item
                continue
            if isinstance(item, Note | Pending | Cut):
                self.report.notes += [Skipped(uri, item.text)] if isinstance(item, Note) else []
                continue
            if isinstance(item, Same | Gone):
                (scan.same if isinstance(item, Same) else scan.gone).add(self._name(item.name))
                if isinstance(item, Same) and item.stamp:
                    scan.stamps[self._name(item.name)] = item.stamp
                continue
            place = item.uri if isinstance(item, Found) else item.path
            if any(self.source.within(place, other) for other in theirs):
                continue
            if self._leads_into_closed(place):
                self.unread.append(self._name(item.name) if isinstance(item, Found) else place)
                continue
            if isinstance(item, Skipped):
                self.report.skipped.append(item)
                self._closed += [item.path] if item.closed else []
            else:
                self._sort_in(replace(item, name=self._name(item.name)) if self.scope else item, scan, missing)
        for (extra, format), endings in missing.items():
            count, forms = sum(endings.values()), " ".join(sorted(endings))
            files = "1 file was" if count == 1 else f"{count:,} files were"
            why = f"{files} not read: {format} ({forms}) needs {install_hint(extra)}"
            self.report.skipped.append(Skipped(uri, why))
        return scan

    def _report_closed(self, uri: str) -> None:
        """Name the places of removed roots that are left out: not everyone may see their documents."""
        present = {other.path for other in self.others}
        for path, name in self.closed.items() if not self.by_root else ():
            if path not in present and self.source.within(path, uri):
                why = f"left out: not everyone may see collection {name!r}, from which it was removed"
                hint = f"`watersmeet sync {path}` adds it again, with `--audience public` for everyone"
                self.report.skipped.append(Skipped(path, f"{why}; {hint}"))

    def _leads_into_closed(self, place: str) -> bool:
        """Whether something is left out, or a link to that, whose target the rules of this root may hide."""
        if not self.closed:
            return False
        real = os.path.realpath(place) if os.path.isabs(place) else place
        return any(self.source.within(one, other) for other in self.closed for one in (place, real))

    def _sort_in(self, item: Found, scan: _Scan, missing: dict[tuple[str, str], Counter[str]]) -> None:
        """Add a found item to the scan, unless its format is left out or cannot be read here."""
        format = self.formats.of(item)
        if format is None:
            self.report.skipped.append(Skipped(item.uri, "no parser reads this ending"))
            self.unread.append(item.name)
        elif not format.filter.takes(item.name):
            self.unread.append(item.name)
        elif format.missing:
            self.unread.append(item.name)
            missing.setdefault((format.extra, format.name), Counter())[ending(item.name)] += 1
            scan.same.add(item.name)  # what was read of it before stays
        else:
            scan.found[item.name] = item

    def _report_around(self, uri: str, states: Mapping[str, FileState]) -> None:
        """A warning for a new address below one that is a root: its pages may be documents of that one too."""
        around = [o.path for o in self.others if o.kind == self.root.kind and o.path.endswith("/")]
        for path in around if self.before is not None and not states else ():
            if uri.startswith(path):
                why = f"it lies below {path}, which is in this index: what both hold is in it twice"
                self.report.warnings.append(Skipped(uri, f"{why}; `watersmeet remove {uri}` undoes it"))

    def _report_without_extra(self, items: Sequence[Found], uri: str) -> None:
        """A warning for each format whose files were read without its extra."""
        plain = Counter(format for item in items if (format := self._format(item)).without_extra)
        for format, count in plain.items():
            files = "1 file was" if count == 1 else f"{count:,} files were"
            why = f"{files} read as plain lines; {install_hint(format.extra)} reads {format.name} by its structure"
            self.report.warnings.append(Skipped(uri, why))

    def _outdated(self, item: Found) -> bool:
        """Whether another parser, or another version of it, has read this file before."""
        return bool(self.outdated) and form_of(readers(), item) in self.outdated

    def _name(self, name: str) -> str:
        """The name below the root of an item in a scan of the scope."""
        if self.by_root:
            return name
        return self.scope + name if self.scope.endswith("/") else self.scope or name

    def _offers(self, root: SourceRoot, stamps: Mapping[str, str]) -> Iterator[Offer]:
        """Items of the source. A scan that ends early becomes a warning; one that fails at the start raises."""
        started = whole = False
        reason = "the scan ended early"
        try:
            scan = self.source.scan_part(root, self.scope, stamps) if self.by_root else self.source.scan(root, stamps)
            for item in scan:
                started = True
                whole = whole or isinstance(item, Whole)
                if isinstance(item, Cut):
                    reason = f"the scan ended early: {item.reason}"
                    continue
                yield item
        except (SourceProblem, OSError) as problem:
            if not started and isinstance(problem, OSError):
                raise SourceProblem(f"{root.uri}: {problem}") from problem
            if not started:
                raise
            reason, whole, self.failed = f"the scan ended early: {problem}", False, True
        if not whole:
            self.problem = reason
            self.report.warnings.append(Skipped(root.uri, f"{reason}; {REST_KEPT}"))

    def _out_of_reach(self, name: str, uri: str) -> bool:
        """Whether a file is below a folder that could not be read now, and so may still exist."""
        place = f"{trimmed(slashed(uri))}/{self._below(name) if self.scope.endswith('/') else name}"
        return any(place.startswith(slashed(folder) + "/") for folder in self._closed)

    def _read(self, item: Found, state: FileState | None) -> None:
        read_at = self.read_at or time.time_ns()
        content = self._open(item)
        if isinstance(content, Skipped):
            self._not_read(item, content, state)
            return
        with content.stream:
            hash = _hash(content, item)
            if hash is None:
                self._not_read(item, Skipped(item.uri, "cannot be read to its end"), state)
            elif state and state.hash == hash and not self._outdated(item):
                self.batch.file(self.root.id, item, hash, read_at)
                if self.again or state.stamp != item.stamp:
                    self._date(state, item, content)
                self.report.unchanged += self.catalogue.count_of(state.id)
            else:
                self._store(item, state, content, hash, read_at)

    def _not_read(self, item: Found, why: Skipped, state: FileState | None) -> None:
        kept = "; the version indexed before is kept" if state else ""
        self.report.skipped.append(Skipped(why.path, why.reason + kept))
        self.unread.append(item.name)
        self.all_read = False

    def _open(self, item: Found) -> Content | Skipped:
        """The content of an item, as a stream if its parser can read one."""
        if self._format(item).stream_parser:
            stream = self.source.open(item)
            return stream if isinstance(stream, Skipped) else Content(stream)
        content = self.source.read(item)
        return content if isinstance(content, Skipped) else Content.of(content)

    def _store(self, item: Found, state: FileState | None, content: Content, hash: bytes, read_at: int) -> None:
        """Store the documents of a new or changed file."""
        source = self._moved_here(hash) if state is None else None
        origin = state or source
        old: Spill[bytes] = Spill(self.catalogue.documents_of(origin.id) if origin else ())
        try:
            complete = self._documents(item, content, state, old)
        except ReaderFailed as failure:
            self._not_read(item, Skipped(item.uri, str(failure)), state)
            if failure.lasting:
                self.batch.file(self.root.id, item, hash, read_at)  # not read again until it changes
            return
        settled = isinstance(content.stream, io.BytesIO) or _hash(content, item) == hash
        if not complete or not settled:
            item, hash = replace(item, stamp=""), b""  # read it again next time: the other document may be gone by then
        if settled:
            for document in old:
                self.batch.remove(DocId(document))
                self.batch.maybe_commit()
                self._gone[document] = item.name
                self.report.removed += 1
        else:
            self.report.warnings.append(Skipped(item.uri, "changed while it was read; the next sync reads it again"))
            self.all_read = False
        self.batch.file(self.root.id, item, hash, read_at)
        if source and settled:  # last: until then the documents belong to the old file
            self.batch.forget(source.id)

    def _date(self, state: FileState, item: Found, content: Content) -> None:
        """Update the dates of documents of an unchanged file, since its time stamp or commit may differ."""
        for document, stored, fields in self.catalogue.dated(state.id):
            modified = self.dates.of(stated_modified(fields), item, content)
            created = self.dates.created(stated_created(fields), item)
            if stored != (modified and modified.timestamp()) or fields.get(CREATED) != (
                created and created.isoformat()
            ):
                self.batch.date(document, modified, created)
                self.batch.maybe_commit()

    def _moved_here(self, hash: bytes) -> FileState | None:
        """The missing file with the content of this new one, which is then a moved file."""
        states = self._missing.get(hash)
        return states.pop(0) if states else None

    def _documents(self, item: Found, content: Content, state: FileState | None, old: Spill[bytes]) -> bool:
        """Store the documents of a file; those left in `old` afterwards are no longer in it.

        Returns False if the id of one belongs to a document of another file.
        """
        moved = state is None and bool(old)
        taken = WarningList(item.uri, "more have ids that belong to other documents")
        warnings = WarningList(item.uri, "more warnings")
        for read in parse_safely(self._parsed(item, content), lambda reason: Skipped(item.uri, reason)):
            if isinstance(read, Skipped):
                self.report.skipped.append(read)
                continue
            document, prepared, hash = read
            if self._taken(document.id, state, old):
                taken.add(self._taken_reason(document.id))
                self._refused[document.id] = item.name
                continue
            self._put[document.id] = item.name
            for text in document.warnings:
                warnings.add(text)
            before = old.pop(document.id)
            source = next(iter(old), None) if before is None and moved else None
            if source is not None:
                old.pop(source)
            if before == hash and not moved:
                self.batch.place(document.id, prepared)
                self.batch.date(document.id, document.modified, document.created)
                self.report.unchanged += 1
            else:
                self._count(before, moved and (before is not None or source is not None))
                place = (self.root.id, item.name)
                self.batch.put(document, prepared, hash, self.root.collection, place, DocId(source) if source else None)
            self.batch.maybe_commit()
        self.report.warnings += warnings.all()
        self.report.skipped += taken.all()
        if taken.listed:
            self._refusals[item.name] = (item, taken.all())
        return not taken.listed

    def _parsed(self, item: Found, content: Content) -> Iterator[tuple[Document, list[Prepared], bytes] | Skipped]:
        """Documents of a file, each with chunks and hash."""
        for parsed in self._parse(item, content):
            if isinstance(parsed, Skipped):
                yield parsed
            else:
                document = self._identified(parsed, item, content)
                prepared = prepare(document, self._format(item).chunker.split(document))
                yield document, prepared, document_hash(document, prepared)

    def _parse(self, item: Found, content: Content) -> Iterator[Document | Skipped]:
        format = self._format(item)
        if format.stream_parser:
            self.dates.of(None, item, content)  # now: dating by commit reads the content, which the parser consumes
            return format.stream_parser.parse_stream(item, content.stream)
        return format.parser.parse(item, content.whole())

    def _format(self, item: Found) -> Format:
        format = self.formats.of(item)
        if format is None:
            raise SourceProblem(f"no parser reads {item.uri}")  # the scan has left it out
        return format

    def _identified(self, document: Document, item: Found, content: Content) -> Document:
        """A document with its final id (the prefix of the root and the path), dates and fields."""
        is_of_file = document.id == item.name or document.id.startswith(f"{item.name}#")
        identity = DocId(self.root.prefix + document.id) if is_of_file else document.id
        fields = {key: value for key, value in document.fields.items() if key not in SET_HERE}
        fields |= item.fields
        if odd := irregular_levels(document.title, document.sections):
            fields[LEVELS] = odd
        if overlap := getattr(self._format(item).chunker, "overlap", 0):
            fields[OVERLAP] = overlap
        return replace(
            document,
            id=identity,
            modified=self.dates.of(document.modified, item, content),
            created=self.dates.created(document.created, item),
            fields=fields,
        )

    def _taken(self, document: DocId, state: FileState | None, old: Spill[bytes]) -> bool:
        if document in self._put:
            return True
        if document in self._gone:  # it belonged to another file until now
            self.batch.commit()
        owner = self.catalogue.owner(document)
        if owner is None or document in old:
            return False
        _, file, _ = owner
        if state is not None and file == state.id:
            return False
        return all(file != gone.id for states in self._missing.values() for gone in states)

    def _taken_reason(self, document: DocId) -> str:
        """The reason why a document is skipped whose id is taken."""
        owner = self.catalogue.root_of(document)
        for other in self.others:
            if other.id == owner and document not in self._put:
                return f"its id {document!r} is taken by a file of {other.path}, and this one is of {self.root.path}"
        return f"the id {document!r} belongs to another document"

    def _count(self, before: bytes | None, moved: bool) -> None:
        if moved:
            self.report.moved += 1
        elif before is None:
            self.report.added += 1
        else:
            self.report.changed += 1

    def _forget(self, state: FileState) -> None:
        for document, _ in self.catalogue.documents_of(state.id):
            if document not in self._put:
                self.batch.remove(document)
                self.batch.maybe_commit()
                self.report.removed += 1
        self.batch.forget(state.id)


def _hash(content: Content, item: Found) -> bytes | None:
    """The hash of a content, and of the fields that its documents get; None if it cannot be read to its end."""
    fields = [f"\0{key}={value}" for key, value in item.fields]
    try:
        return digest_of(chain(content.blocks(), fields))
    except OSError:
        return None
