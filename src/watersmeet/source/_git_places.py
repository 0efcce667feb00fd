"""Repositories that a source has opened in this sync."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace

from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import FetchProgress
from watersmeet.core.names import printable
from watersmeet.source._git import GitFailed, ObjectReader, Repository, find_repository
from watersmeet.source._git_address import GitAddress
from watersmeet.source._git_blobs import Blobs
from watersmeet.source._git_clone import BROKEN, HEAD, Cloning

_NOT_THERE = "name the folder of a git repository, or a folder in one"


@dataclass(frozen=True)
class Opened:
    """A repository at one commit, and the folder in it."""

    address: GitAddress
    repository: Repository
    tip: str
    folder: str
    checked_out: bool  # whether the work tree, if any, has this commit

    @property
    def reader(self) -> ObjectReader:
        return self.repository.reader(self.tip)

    def uri_of(self, name: str) -> str:
        """Where to open a file: in the work tree, else on the web, else by its address."""
        path = f"{self.folder}/{name}" if self.folder else name
        if self.checked_out:
            file = os.path.join(self.repository.work_tree, *path.split("/"))
            if os.path.isfile(file):
                return file
        return self.address.link(path)

    def mark_broken(self) -> None:
        """Have the next sync clone anew, if this is a clone of ours."""
        if self.address.url:
            with suppress(OSError):
                open(os.path.join(self.repository.folder, BROKEN), "w").close()


@dataclass(slots=True)
class Places:
    """Opened repositories by address, and contents by where they are opened."""

    contents: dict[str, Blobs] = field(default_factory=dict)
    _opened: dict[str, Opened] = field(default_factory=dict)
    _fetched: dict[str, Repository] = field(default_factory=dict)
    _blobs: dict[str, Blobs] = field(default_factory=dict)

    def fetch(
        self, uri: str, address: GitAddress, cloning: Cloning, *, contents: bool, progress: FetchProgress
    ) -> Opened:
        """Bring the clone of a repository elsewhere up to date."""
        self._fetched[uri] = cloning.fetched(address, contents, progress)
        return self.open(uri, address, cloning.cache)

    def is_open(self, uri: str) -> bool:
        """Whether a repository elsewhere was fetched already."""
        return uri in self._fetched

    def open(self, uri: str, address: GitAddress, cache: str) -> Opened:
        """A repository at its present commit; `SourceProblem` if there is none."""
        if address.url:
            repository, folder = self._fetched[uri], address.folder
        else:
            found = find_repository(address.path, cache)
            if found is None:
                raise SourceProblem(f"{printable(address.path)} is not a git repository", _NOT_THERE)
            repository, inside = found
            folder = "/".join(filter(None, (inside, address.folder)))
        try:
            tip = repository.resolve(address.revision or (HEAD if address.url else ""))
        except GitFailed:
            raise SourceProblem(
                f"{printable(address.uri)} has no revision {address.revision!r}"
                if address.revision
                else f"{printable(address.uri)} has no commit yet",
                "name a branch, a tag or the hash of a commit after @"
                if address.revision
                else "commit something first",
            ) from None
        checked_out = bool(repository.work_tree) and (not address.revision or tip == _head(repository))
        self._opened[uri] = Opened(address, repository, tip, folder, checked_out)
        return self._opened[uri]

    def opened(self) -> Collection[Opened]:
        return self._opened.values()

    def blobs(self, opened: Opened) -> Blobs:
        if opened.repository.folder not in self._blobs:
            self._blobs[opened.repository.folder] = Blobs(opened.reader)
        return self._blobs[opened.repository.folder]

    def located(self, address: GitAddress, cache: str) -> tuple[GitAddress, bool]:
        """An address in its one spelling, and whether there is something: a repository elsewhere shows when fetched."""
        if address.url:
            return address, True
        found = find_repository(address.path, cache)
        if found is None:
            return address, False
        repository, inside = found
        folder = "/".join(filter(None, (inside, address.folder)))
        return replace(address, path=repository.work_tree or repository.folder, folder=folder), True


def _head(repository: Repository) -> str:
    try:
        return repository.resolve("")
    except GitFailed:
        return ""


def refuse(wrong: bool, message: str, hint: str) -> None:
    if wrong:
        raise SourceProblem(message, hint)
