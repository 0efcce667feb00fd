"""Spooling of slow sources: they are read before the index is locked, and written afterwards."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from typing import BinaryIO

from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Dating, Found, Gone, Note, Offer, Pending, Same, Skipped, Source, SourceRoot, Whole
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.writing import FileState
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.engine.sync.scan import unchanged


@dataclass(slots=True)
class SpooledSource(Source):
    """A source that replays the scan of another, with the contents in a folder."""

    source: Source
    folder: str
    before: Mapping[str, FileState]
    """File states of the index when the source was scanned."""
    again: bool
    """Whether unchanged items were read too."""
    limit: int = 0
    """Most items of the root, now and later; 0: as the settings say."""
    began: int = field(default_factory=time.time_ns)
    """When the scan started; later changes may be missing."""
    problem: SourceProblem | None = None
    _offers: list[Offer] = field(default_factory=list)
    _notes: list[Note] = field(default_factory=list)
    _contents: dict[str, str | Skipped] = field(default_factory=dict)

    def fetch(self, root: SourceRoot, progress: ProgressCallback) -> None:
        """Scan the source, and read items that are new or may have changed."""
        stamps = {name: state.stamp for name, state in self.before.items() if state.stamp}
        known, reread = ({}, stamps) if self.again else (stamps, {})
        try:
            self._fetch(self.source.scan(replace(root, reread=reread), known), progress)
        except SourceProblem as problem:
            self.problem = problem
        except OSError as error:
            self.problem = SourceProblem(f"{root.uri}: {error}")

    def _fetch(self, offers: Iterator[Offer], progress: ProgressCallback) -> None:
        done, left, all_read, missing = 0, 0, True, set(self.before)
        for item in offers:
            if isinstance(item, Note):
                self._notes.append(item)
                continue
            if isinstance(item, Pending):
                left = item.count
            elif isinstance(item, Whole) and self.again and missing and not all_read:
                continue  # the source has not said what became of these items: they may be those that it skipped
            else:
                self._offers.append(item)
                done += isinstance(item, Found | Same)
                all_read = all_read and not isinstance(item, Skipped)
                missing -= {item.name} if isinstance(item, Found | Same | Gone) else set()
            if isinstance(item, Found) and (self.again or not unchanged(self.before.get(item.name), item)):
                self._contents[item.name] = self._spool(item)
            progress(Progress("fetching", done, done + left if left else 0, "pages" if left else "files"))

    @property
    def failure(self) -> SourceProblem | None:
        """The problem of a source that failed without any item."""
        return None if self._offers else self.problem

    def _spool(self, item: Found) -> str | Skipped:
        path = os.path.join(self.folder, str(len(self._contents)))
        try:
            stream = self.source.open(item)
            if isinstance(stream, Skipped):
                return stream
            with stream, open(path, "wb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            return Skipped(item.uri, f"cannot be read: {error}")
        return path

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        yield from self._offers
        yield from self._notes
        if self.problem is not None:
            raise self.problem

    def read(self, found: Found) -> bytes | Skipped:
        stream = self.open(found)
        if isinstance(stream, Skipped):
            return stream
        with stream:
            return stream.read()

    def open(self, found: Found) -> BinaryIO | Skipped:
        content = self._contents.get(found.name) or Skipped(found.uri, "it was not read")
        return content if isinstance(content, Skipped) else open(content, "rb")

    def dating(self, found: Collection[Found]) -> Dating:
        return self.source.dating(found)

    def within(self, uri: str, place: str) -> bool:
        return self.source.within(uri, place)
