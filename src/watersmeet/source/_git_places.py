"""Repositories that a source has opened in this sync."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import FetchProgress
from watersmeet.core.names import printable
from watersmeet.source._git import GitFailed, ObjectReader, Repository, find_repository
from watersmeet.source._git_address import GitAddress
from watersmeet.source._git_blobs import Blobs
from watersmeet.source._git_clone import BROKEN, HEAD, Cloning

_MOST_NAMES = 2_000
"""So many names are compared with a mistyped one."""
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

    def check_folder(self, history: bool) -> None:
        """Raise `SourceProblem` if this commit does not have the folder; for a history, if no commit had it."""
        if not self.folder:
            return
        kind = next(self._listed(self.folder), "").partition("\t")[0].split(" ")[1:2]
        if kind == ["tree"] or (kind and history):
            return
        if history and self.reader.output("rev-list", "--max-count=1", "--end-of-options", self.tip, "--", self.folder):
            return
        what = "is not a folder" if kind else "does not exist"
        raise SourceProblem(
            f"{printable(self.folder)} {what} in {printable(self.address.url or self.address.path)} "
            f"at {printable(self.address.revision or 'its current commit')}; nothing was changed",
            _near(self.folder, self._beside) + "name a folder of the repository after #, from its top",
        )

    def _beside(self) -> Iterator[str]:
        """The folders where this one should be."""
        above = posixpath.dirname(self.folder)
        return (item.partition("\t")[2] for item in self._listed(f"{above}/" if above else "", "-d"))

    def _listed(self, path: str, *options: str) -> Iterator[str]:
        paths = [path] if path else []
        return self.reader.items("ls-tree", "-z", "--full-tree", *options, self.tip, "--", *paths)

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
        return self.open(uri, address, cloning.cache, history=contents)

    def is_open(self, uri: str) -> bool:
        """Whether a repository elsewhere was fetched already."""
        return uri in self._fetched

    def open(self, uri: str, address: GitAddress, cache: str, *, history: bool = False) -> Opened:
        """A repository at its present commit; `SourceProblem` if there is none, or not this folder.

        So a mistyped address is an error before it is a root, and a folder that was moved away deletes nothing.
        `history`: the folder may be one that a commit deleted, or a file.
        """
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
                _near(address.revision, repository.revisions) + "name a branch, a tag or the hash of a commit after @"
                if address.revision
                else "commit something first",
            ) from None
        checked_out = bool(repository.work_tree) and (not address.revision or tip == _head(repository))
        opened = Opened(address, repository, tip, folder, checked_out)
        with suppress(GitFailed):  # damaged: reading it reports why
            opened.check_folder(history)
        self._opened[uri] = opened
        return opened

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


def _near(name: str, names: Callable[[], Iterable[str]]) -> str:
    """The beginning of a hint: a name like this one, if there is one."""
    import difflib  # lazy: only needed for errors

    with suppress(GitFailed):
        for found in difflib.get_close_matches(name, islice(names(), _MOST_NAMES), 1):
            return f"did you mean {printable(found)!r}? "
    return ""


def refuse(wrong: bool, message: str, hint: str) -> None:
    if wrong:
        raise SourceProblem(message, hint)
