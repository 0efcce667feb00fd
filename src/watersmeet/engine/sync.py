"""Make the index say what the sources say: read what changed, keep the rest, forget what is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from watersmeet.core.indexing import Chunker, Found, Parser, Skipped, Source
from watersmeet.core.model import DocId
from watersmeet.core.pages import Document
from watersmeet.engine.batch import Batch
from watersmeet.engine.dates import SOURCES, Dates
from watersmeet.engine.entries import digest, document_hash, prepare
from watersmeet.engine.report import Progress, SyncReport, Tell
from watersmeet.present.whole import LEVELS, odd_levels
from watersmeet.store.catalogue import Catalogue, FileState, Root

TICK = 2_000_000_000
"""A file that changed less than this (ns) before it was read may change again and keep its time stamp."""


def ending(name: str) -> str:
    return name.rsplit(".", 1)[-1].casefold()


@dataclass(slots=True)
class FolderSync:
    """Syncs one root, or the part `scope` of it."""

    catalogue: Catalogue
    batch: Batch
    source: Source
    parsers: Mapping[str, Parser]
    chunker: Chunker
    report: SyncReport
    tell: Tell
    root: Root
    prefix: str  # in front of document ids when there are several roots
    scope: str = ""  # empty: all; else a folder with a slash at the end, or one file
    dates: Dates = field(default_factory=lambda: Dates(SOURCES))
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
            if state and state.stamp == item.stamp and item.stamp[1] < state.seen - TICK:
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

    def _scan(self, path: str) -> dict[str, Found]:
        found: dict[str, Found] = {}
        for item in self.source.scan(path):
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

    def _moved_here(self, hash: bytes) -> FileState | None:
        """A new file with the content of one that is gone: that one has moved."""
        states = self._missing.get(hash)
        return states.pop(0) if states else None

    def _documents(self, item: Found, content: bytes, state: FileState | None, old: dict[DocId, bytes]) -> bool:
        """Store what the file holds; what is left in `old` afterwards is no longer in it.

        False if another file's document stood in the way of one.
        """
        parser = self.parsers[ending(item.name)]
        moved = state is None and bool(old)
        complete = True
        for parsed in parser.parse(item, content):
            if isinstance(parsed, Skipped):
                self.report.skipped.append(parsed)
                continue
            document = self._identified(parsed, item, content)
            if self._taken(document.id, state, old):
                reason = f"the id {document.id!r} belongs to another document"
                said = Skipped(item.path, reason)
                self.report.skipped.append(said)
                self._refused[document.id] = (item, said)
                complete = False
                continue
            self._put[document.id] = item.name
            self.report.warnings += [Skipped(item.path, text) for text in document.warnings]
            prepared = prepare(document, self.chunker.split(document))
            hash = document_hash(document, prepared)
            before = old.pop(document.id, None)
            source = None
            if before is None and moved and old:
                source = next(iter(old))
                old.pop(source)
            if before == hash and not moved:
                self.batch.place(document.id, prepared)
                self.report.unchanged += 1
                continue
            self._count(before, moved and (before or source) is not None)
            self.batch.put(document, prepared, hash, self.root.collection, (self.root.id, item.name), source)
            self.batch.maybe_commit()
        return complete

    def _identified(self, document: Document, item: Found, content: bytes) -> Document:
        """A page is called by its path, with the root's name in front if there are several roots."""
        identity = DocId(self.prefix + document.id) if document.id == item.name else document.id
        fields = {key: value for key, value in document.fields.items() if key != LEVELS}
        odd = odd_levels(document.title, document.sections)
        return replace(
            document,
            id=identity,
            modified=self.dates.of(document, item, content),
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
