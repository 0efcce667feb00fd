"""The source for the files of a git repository at a revision: `git+https://…`, `git+ssh://…`, `git+/path`.

A file is identified by its path, and its version by the hash of its content. Hidden files, installed packages and
endings that no parser reads are left out, as in folders. Nothing of the repository is run: see `_git.py`.
"""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, ClassVar

from watersmeet.common.globs import Pattern, pattern
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import (
    Content,
    Dating,
    FetchProgress,
    Found,
    Located,
    Offer,
    Skipped,
    Source,
    SourceRoot,
    Whole,
)
from watersmeet.core.names import is_text, printable
from watersmeet.core.options import option
from watersmeet.source._files import too_large
from watersmeet.source._git import GitFailed, problem
from watersmeet.source._git_address import parse_address
from watersmeet.source._git_blobs import Blobs
from watersmeet.source._git_clone import Cloning
from watersmeet.source._git_dates import last_changes
from watersmeet.source._git_places import Opened, Places, refuse
from watersmeet.source.folder import NEVER, Folder, Included

SCHEME = "git+"
_LFS = b"version https://git-lfs.github.com/spec/"
_MAX_POINTER = 1024
_IN_MEMORY = 16 << 20
"""Larger contents are kept in a temporary file."""
_LINK, _SUBMODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a tree; `size` is negative if its content is not there yet."""

    mode: str
    blob: str
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class Git(Source):
    """Files of one revision, named by their path below the folder of the address."""

    schemes: ClassVar[tuple[str, ...]] = (SCHEME,)

    endings: tuple[str, ...]  # of files that a parser reads
    names: Collection[str] = frozenset()  # of files that a parser reads whatever they end in
    sizes: Mapping[str, str] = field(default_factory=dict)  # by ending or name: text, binary or records
    cache: str = ""  # folder for clones
    public_only: bool = False  # reach no private machine, whatever `allowed` says
    include: list[str] = option(
        [], "globs of the files to read, as for folders; none: every ending that a parser reads"
    )
    exclude: list[str] = option([], "globs of files and folders to leave out, whatever `include` says")
    hidden: bool = option(False, "also read files and folders whose name begins with a dot")
    max_bytes: int = option(10_000_000, "the largest text file to read, in bytes", least=0)
    max_bytes_binary: int = option(100_000_000, "the largest PDF, Office or EPUB file to read, in bytes", least=0)
    max_bytes_records: int = option(1_000_000_000, "the largest .jsonl or .mbox file to read, in bytes", least=0)
    max_files: int = option(200_000, "the largest number of files to read of one repository", least=1)
    max_clone_bytes: int = option(5_000_000_000, "the largest repository to fetch, in bytes", least=0)
    stall_seconds: float = option(60.0, "end git if it fetches nothing for so long", least=1)
    fetch_seconds: float = option(3600.0, "end git if a fetch takes longer, whatever it says", least=1)
    allowed: list[str] = option([], "machines in private networks that may be reached: host or host:port", outside=True)
    _places: Places = field(default_factory=Places, init=False, repr=False, compare=False)

    def is_remote(self, uri: str) -> bool:
        return bool(parse_address(uri.removeprefix(SCHEME)).url)

    def prepare(self, root: SourceRoot, progress: FetchProgress) -> None:
        """Fetch a repository elsewhere, with contents of files; check that it has the revision and the folder."""
        address = parse_address(root.uri.removeprefix(SCHEME))
        if not address.url:
            self._places.open(root.uri, address, self.cache)
            return
        cloning = Cloning(
            "git",
            self.cache,
            () if self.public_only else tuple(self.allowed),
            self.max_clone_bytes,
            self.stall_seconds,
            self.fetch_seconds,
        )
        opened = self._places.fetch(root.uri, address, cloning, contents=False, progress=progress)
        missing = [file.blob for file in self._files(opened) if isinstance(file, _File) and file.size < 0]
        if missing:
            cloning.fetch_contents(opened.repository.folder, address, sorted({*missing}), progress)

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        """List the files of the revision. A repository elsewhere is fetched first, if that was not done yet."""
        address = parse_address(root.uri.removeprefix(SCHEME))
        if address.url and not self._places.is_open(root.uri):
            self.prepare(root, lambda doing, done, total: None)
        opened = self._places.open(root.uri, address, self.cache)
        blobs = self._places.blobs(opened)
        try:
            count = 0
            for file in self._files(opened):
                if isinstance(file, Skipped):
                    yield file
                    continue
                count += 1
                if count > self.max_files:
                    raise SourceProblem(
                        f"{root.uri} has more than {self.max_files:,} files", "raise max_files under [source.git]"
                    )
                yield self._offer(file, opened, blobs, known)
        except GitFailed as error:
            opened.mark_broken()
            raise problem(root.uri, error, "the repository may be damaged: `git fsck` in it tells more") from None
        yield Whole(opened.tip)

    def _files(self, opened: Opened) -> Iterator[_File | Skipped]:
        """The files that are meant for reading, and what cannot be read."""
        rules = _Rules(self)
        folder = f"{opened.folder}/" if opened.folder else ""
        arguments = ["ls-tree", "-r", "-l", "-z", "--full-tree", opened.tip, "--", *([folder] if folder else [])]
        for item in opened.reader.items(*arguments):
            facts, _, path = item.partition("\t")
            mode, _, blob, size = facts.split()
            name = path.removeprefix(folder)
            if not is_text(name):
                yield Skipped(printable(path), "name is not valid UTF-8")
            elif rules.left_out(name):
                continue
            elif mode == _SUBMODULE:
                yield Skipped(opened.uri_of(name), "submodule: another repository, to be synced by itself")
            elif mode == _LINK:
                if rules.takes(name) or "." not in posixpath.basename(name):
                    yield Skipped(opened.uri_of(name), "symlink; in a repository none is followed")
            elif rules.takes(name):
                yield _File(mode, blob, int(size) if size.isdigit() else -1, name)

    def _offer(self, file: _File, opened: Opened, blobs: Blobs, known: Mapping[str, str]) -> Found | Skipped:
        uri = opened.uri_of(file.name)
        limit, setting = self._limit(file.name)
        if file.size < 0:
            return Skipped(uri, "its content is not in the repository, which is a partial clone")
        if file.size > limit:
            return Skipped(uri, too_large(limit, setting, "git"))
        if file.size <= _MAX_POINTER and known.get(file.name) != file.blob and self._is_pointer(file.blob, blobs):
            return Skipped(uri, "Git LFS pointer: its content is not in the repository")
        self._places.contents[uri] = blobs
        media = posixpath.splitext(file.name)[1].casefold()
        return Found(file.name, uri, file.blob, None, media, sure=True)

    def _is_pointer(self, blob: str, blobs: Blobs) -> bool:
        content = blobs.read(blob)
        return content is not None and content.startswith(_LFS)

    def read(self, found: Found) -> bytes | Skipped:
        blobs = self._places.contents.get(found.uri)
        try:
            content = blobs.read(found.stamp) if blobs else None
        except GitFailed as error:
            return Skipped(found.uri, f"cannot be read: {error}")
        return Skipped(found.uri, "no longer in the repository") if content is None else content

    def open(self, found: Found) -> BinaryIO | Skipped:
        content = self.read(found)
        if isinstance(content, Skipped):
            return content
        stream = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the caller closes it
        stream.write(content)
        stream.seek(0)
        return stream  # type: ignore[return-value]

    def dating(self, found: Collection[Found]) -> Dating:
        return _CommitDates(self._places, found)

    def locate(self, uri: str) -> Located:
        address = parse_address(uri.removeprefix(SCHEME))
        refuse(address.since != "", f"{uri}: only a history has a beginning", "add --history, or leave out --since")
        address, exists = self._places.located(address, self.cache)
        return Located(SCHEME + address.uri, address.name, exists, None, (uri,))

    def _limit(self, name: str) -> tuple[int, str]:
        return self._as_folder().limit(name)

    def _as_folder(self) -> Folder:
        """The rules of folders, with the settings of this source."""
        return Folder(
            self.endings,
            self.names,
            self.sizes,
            include=self.include,
            max_bytes=self.max_bytes,
            max_bytes_binary=self.max_bytes_binary,
            max_bytes_records=self.max_bytes_records,
        )


class _Rules:
    """Which files are read, as in folders: the folders above a file count too."""

    def __init__(self, source: Git) -> None:
        self._included = Included(source._as_folder())
        globs = (pattern(glob.lower().removeprefix("./"), may_negate=False) for glob in source.exclude)
        self._excluded: list[Pattern] = [glob for glob in globs if glob is not None]
        self._hidden = source.hidden
        self._folders: dict[str, bool] = {"": False}

    def takes(self, path: str) -> bool:
        return self._included.matches(posixpath.basename(path), path)

    def left_out(self, path: str) -> bool:
        folder, name = posixpath.split(path)
        return self._in_left_out(folder) or self._is_left_out(name, path, is_folder=False)

    def _in_left_out(self, folder: str) -> bool:
        if folder not in self._folders:
            above, name = posixpath.split(folder)
            self._folders[folder] = self._in_left_out(above) or self._is_left_out(name, folder, is_folder=True)
        return self._folders[folder]

    def _is_left_out(self, name: str, path: str, is_folder: bool) -> bool:
        if (name.startswith(".") and not self._hidden) or name in NEVER:
            return True
        name, path = name.lower(), path.lower()
        return any(glob.matches(name, path, is_folder) for glob in self._excluded)


@dataclass(slots=True)
class _CommitDates:
    """Dates of the last commits that changed the files, read at first use."""

    places: Places
    found: Collection[Found]
    _dates: dict[str, datetime] | None = None

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        if by != "git":
            return None
        if self._dates is None:
            self._dates = {}
            for opened in self.places.opened():
                names = {item.name for item in self.found if item.uri == opened.uri_of(item.name)}
                for name, date in last_changes(opened.reader, opened.tip, opened.folder, names).items():
                    self._dates[opened.uri_of(name)] = date
        return self._dates.get(found.uri)
