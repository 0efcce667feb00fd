"""Make the index say what the sources say: read what changed, keep the rest, forget what is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from watersmeet.core.indexing import Chunker, Found, Parser, Skipped, Source
from watersmeet.core.model import DocId
from watersmeet.core.pages import CREATED, Document
from watersmeet.core.text_fields import Prepared, digest, document_hash, prepare
from watersmeet.core.writing import FileState, Put, Root, Writer
from watersmeet.engine.batch import Batch
from watersmeet.engine.dates import DEFAULT, Dates
from watersmeet.engine.parsing import unbroken
from watersmeet.engine.relocate import within
from watersmeet.engine.report import Progress, SyncReport, Tell
from watersmeet.parse._values import created as said_created
from watersmeet.parse._values import modified as said_modified
from watersmeet.present.whole import LEVELS, odd_levels

TICK = 2_000_000_000
"""A file that changed less than this (ns) before it was read may change again and keep its time stamp."""


def ending(name: str) -> str:
    """How a name ends, with the dot, as parsers say what they read."""
    return "." + name.rsplit(".", 1)[-1].casefold()


@dataclass(slots=True)
class FolderSync:
    """Syncs one root, or the part `scope` of it."""

    catalogue: Writer
    batch: Batch
    source: Source
    parsers: Mapping[str, Parser]
    chunker: Chunker
    report: SyncReport
    tell: Tell
    root: Root
    scope: str = ""  # empty: all; else a folder with a slash at the end, or one file
    others: Sequence[Root] = ()  # the other roots: what lies in them is theirs
    dates: Dates = field(default_factory=lambda: Dates(DEFAULT))
    again: bool = False  # look into every file, also where nothing seems to have changed
    _missing: dict[bytes, list[FileState]] = field(default_factory=dict)
    _put: dict[DocId, str] = field(default_factory=dict)
    _gone: set[DocId] = field(default_factory=set)
    _refused: dict[DocId, tuple[Found, Skipped]] = field(default_factory=dict)
    _closed: list[str] = field(default_factory=list)
    _done: int = 0
    _total: int = 0

    def run(self, path: str) -> None:
        known = {n: f for n, f in self.catalogue.files(self.root.id).items() if self._in_scope(n)}
        found = self._scan(path)
        for name, lost in known.items():
            if name not in found and not self._out_of_reach(name, path):
                self._missing.setdefault(lost.hash, []).append(lost)
        changed = []
        for item in found.values():
            state = known.get(item.name)
            if state and not self.again and state.stamp == item.stamp and item.stamp[1] < state.seen - TICK:
                self.report.unchanged += len(self.catalogue.documents_of(state.id))
            else:
                changed.append(item)
        self._total = len(changed)
        self.dates.expected = [item.path for item in changed]
        self.tell(Progress("reading", 0, self._total))
        for item in changed:
            self._read(item, known.get(item.name))
            self.batch.maybe_commit()
        for states in self._missing.values():
            for state in states:
                self._forget(state)
        self._try_again()
        self.batch.commit(last=True)

    def _try_again(self) -> None:
        """Read once more the files that had a document which was another's then, and is nobody's now."""
        files = {item.name: item for identity, (item, _) in self._refused.items() if identity in self._gone}
        if not files:
            return
        self.batch.commit()
        for skipped in [said for item, said in self._refused.values() if item.name in files]:
            self.report.skipped.remove(skipped)
        others = {identity: name for identity, name in self._put.items() if name not in files}
        self.report.unchanged -= len(self._put) - len(others)  # they are met again as they are now
        self._put = others
        states = self.catalogue.files(self.root.id)
        for name, item in files.items():
            self._read(item, states.get(name))

    def _in_scope(self, name: str) -> bool:
        return name.startswith(self.scope) if self.scope.endswith("/") else self.scope in ("", name)

    def committed(self, files: int) -> None:
        """The batch calls this when so many more files are safe on disk."""
        self._done += files
        self.tell(Progress("committed", self._done, self._total))

    def refused(self, put: Put) -> None:
        """The batch calls this for a document whose id another process gave away meanwhile."""
        self.report.skipped.append(Skipped(put.document.path, self._whose(put.document.id)))

    def _scan(self, path: str) -> dict[str, Found]:
        found: dict[str, Found] = {}
        theirs = [other.path for other in self.others if within(other.path, [path])]
        for item in self.source.scan(path):
            if theirs and within(item.path, theirs):
                continue
            if isinstance(item, Skipped):
                self.report.skipped.append(item)
                self._closed += [item.path] if item.closed else []
            elif ending(item.name) not in self.parsers:
                self.report.skipped.append(Skipped(item.path, "no parser reads this ending"))
            else:
                name = self.scope + item.name if self.scope.endswith("/") else self.scope or item.name
                found[name] = replace(item, name=name)
        return found

    def _out_of_reach(self, name: str, path: str) -> bool:
        """Below something that could not be looked into just now: not gone for all we know."""
        place = os.path.join(path, name.removeprefix(self.scope) if self.scope.endswith("/") else name)
        return any(place.startswith(folder + "/") for folder in self._closed)

    def _read(self, item: Found, state: FileState | None) -> None:
        seen = time.time_ns()
        content = self.source.read(item)
        if isinstance(content, Skipped):
            kept = "; the version indexed before is kept" if state else ""
            self.report.skipped.append(Skipped(content.path, content.reason + kept))
            return
        hash = digest(content)
        old = dict(self.catalogue.documents_of(state.id)) if state else {}
        if state and state.hash == hash:
            self.batch.file(self.root.id, item, hash, seen)
            if self.again or state.stamp != item.stamp:
                self._date(state, item, content)
            self.report.unchanged += len(old)
            return
        source = self._moved_here(hash) if state is None else None
        if source:
            old.update(self.catalogue.documents_of(source.id))
        if not self._documents(item, content, state, old):
            item, hash = replace(item, stamp=()), b""  # read it again next time: the other may be gone by then
        self.batch.file(self.root.id, item, hash, seen)
        for document in old:
            self.batch.remove(document)
            self._gone.add(document)
            self.report.removed += 1
        if source:  # last: until then what is not yet stored belongs to the file that it was in
            self.batch.forget(source.id)

    def _date(self, state: FileState, item: Found, content: bytes) -> None:
        """The file says what it said; what its time stamp or a commit dates may have another date."""
        for document, known, fields in self.catalogue.dated(state.id):
            modified = self.dates.of(said_modified(fields), item, content)
            created = self.dates.begun(said_created(fields), item)
            if known != (modified and modified.timestamp()) or fields.get(CREATED) != (created and created.isoformat()):
                self.batch.date(document, modified, created)

    def _moved_here(self, hash: bytes) -> FileState | None:
        """A new file with the content of one that is gone: that one has moved."""
        states = self._missing.get(hash)
        return states.pop(0) if states else None

    def _documents(self, item: Found, content: bytes, state: FileState | None, old: dict[DocId, bytes]) -> bool:
        """Store what the file holds; what is left in `old` afterwards is no longer in it.

        False if another file's document stood in the way of one.
        """
        moved = state is None and bool(old)
        complete = True
        for read in unbroken(self._parsed(item, content), lambda reason: Skipped(item.path, reason)):
            if isinstance(read, Skipped):
                self.report.skipped.append(read)
                continue
            document, prepared, hash = read
            if self._taken(document.id, state, old):
                said = Skipped(item.path, self._whose(document.id))
                self.report.skipped.append(said)
                self._refused[document.id] = (item, said)
                complete = False
                continue
            self._put[document.id] = item.name
            self.report.warnings += [Skipped(item.path, text) for text in document.warnings]
            before = old.pop(document.id, None)
            source = None
            if before is None and moved and old:
                source = next(iter(old))
                old.pop(source)
            if before == hash and not moved:
                self.batch.place(document.id, prepared)
                self.batch.date(document.id, document.modified, document.created)
                self.report.unchanged += 1
                continue
            self._count(before, moved and (before or source) is not None)
            self.batch.put(document, prepared, hash, self.root.collection, (self.root.id, item.name), source)
            self.batch.maybe_commit()
        return complete

    def _parsed(self, item: Found, content: bytes) -> Iterator[tuple[Document, list[Prepared], bytes] | Skipped]:
        """Each document of a file with its chunks and its hash."""
        for parsed in self.parsers[ending(item.name)].parse(item, content):
            if isinstance(parsed, Skipped):
                yield parsed
            else:
                document = self._identified(parsed, item, content)
                prepared = prepare(document, self.chunker.split(document))
                yield document, prepared, document_hash(document, prepared)

    def _identified(self, document: Document, item: Found, content: bytes) -> Document:
        """A page is called by its path, with the root's prefix in front."""
        identity = DocId(self.root.prefix + document.id) if document.id == item.name else document.id
        fields = {key: value for key, value in document.fields.items() if key not in (LEVELS, CREATED)}
        odd = odd_levels(document.title, document.sections)
        return replace(
            document,
            id=identity,
            modified=self.dates.of(document.modified, item, content),
            created=self.dates.begun(document.created, item),
            fields={**fields, LEVELS: odd} if odd else fields,
        )

    def _taken(self, document: DocId, state: FileState | None, old: Mapping[DocId, bytes]) -> bool:
        if document in self._put:
            return True
        if document in self._gone:  # it was another file's until just now
            self.batch.commit()
        owner = self.catalogue.owner(document)
        if owner is None or document in old:
            return False
        _, file, _ = owner
        if state is not None and file == state.id:
            return False
        return all(file != gone.id for states in self._missing.values() for gone in states)

    def _whose(self, document: DocId) -> str:
        """Why a file's document is not indexed under an id."""
        owner = self.catalogue.root_of(document)
        for other in self.others:
            if other.id == owner and document not in self._put:
                return (
                    f"its id {document!r} is taken: a file of {other.path} has it, and this one is of {self.root.path}"
                )
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
                self.report.removed += 1
        self.batch.forget(state.id)
