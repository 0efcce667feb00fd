"""The source for the history of a git repository: `history+https://…`, `history+/path`; a commit is an item.

A commit is identified by its hash and never changes. A sync reads the commits that are new since the last one; those
that a revision no longer contains, after a forced push, are deleted. `?since=2y` at the end of an address limits it to
the last two years, `?since=2024-01-31` to a fixed beginning.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import ClassVar

from watersmeet.common.dates import parse_date
from watersmeet.core.errors import ConfigError, SourceProblem
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
from watersmeet.core.options import option
from watersmeet.source._git import GitFailed, GitProcess, ObjectReader, problem
from watersmeet.source._git_address import GitAddress, parse_address
from watersmeet.source._git_clone import Cloning
from watersmeet.source._git_places import Opened, Places

SCHEME = "history+"
MEDIA = "application/x-git-commit"
MAX_COMMIT_BYTES = 2_000_000
"""Bytes of one commit that are read: message and differences."""
_DAMAGED = "the repository may be damaged: `git fsck` in it tells more"
_FIELDS = "%H%x00%an%x00%ae%x00%at%x00%ct%x00%P%x00%B%x00"
_DIFF = (
    *(
        "--patch",
        "--unified=1",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--diff-merges=off",
        "--encoding=UTF-8",
    ),
    *("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--no-relative", "--find-renames", "-l100"),
    *("--no-notes", "--no-mailmap", "--no-decorate", "--root", "--diff-algorithm=myers", "--no-indent-heuristic"),
)


@dataclass(frozen=True, slots=True)
class History(Source):
    """Commits of one revision, named by their hash, newest first."""

    schemes: ClassVar[tuple[str, ...]] = (SCHEME,)
    unit: ClassVar[str] = "commits"

    cache: str = ""  # folder for clones
    public_only: bool = False  # reach no private machine, whatever `allowed` says
    max_commits: int = option(200_000, "the largest number of commits to read, the newest ones", least=1)
    max_clone_bytes: int = option(5_000_000_000, "the largest repository to fetch, in bytes", least=0)
    stall_seconds: float = option(60.0, "end git if it fetches nothing for so long", least=1)
    fetch_seconds: float = option(3600.0, "end git if a fetch takes longer, whatever it says", least=1)
    allowed: list[str] = option([], "machines in private networks that may be reached: host or host:port", outside=True)
    _places: Places = field(default_factory=Places, init=False, repr=False, compare=False)
    _logs: dict[str, _Log] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_remote(self, uri: str) -> bool:
        return bool(_parse(uri).url)

    def prepare(self, root: SourceRoot, progress: FetchProgress) -> None:
        """Fetch a repository elsewhere, with all of its history; check that it has the revision and the folder."""
        address = _parse(root.uri)
        if address.url:
            cloning = Cloning(
                "history",
                self.cache,
                () if self.public_only else tuple(self.allowed),
                self.max_clone_bytes,
                self.stall_seconds,
                self.fetch_seconds,
            )
            self._places.fetch(root.uri, address, cloning, contents=True, progress=progress)
        else:
            self._places.open(root.uri, address, self.cache, history=True)

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        """List the commits. If the revision is where it was, these are the known ones."""
        address = _parse(root.uri)
        if address.url and not self._places.is_open(root.uri):
            self.prepare(root, lambda doing, done, total: None)
        opened = self._places.open(root.uri, address, self.cache, history=True)
        cursor = f"{opened.tip} {address.since}".strip()
        link = address.commit_link()
        self._logs[link] = _Log(opened)
        if known and root.cursor == cursor:
            yield from (Found(name, link + name, stamp, None, MEDIA, sure=True) for name, stamp in known.items())
            yield Whole(cursor)
            return
        try:
            commits = self._listed(opened, root, known)
        except GitFailed as error:
            opened.mark_broken()
            raise problem(root.uri, error, _DAMAGED) from None
        if len(commits) > self.max_commits:
            left = len(commits) - self.max_commits
            yield Skipped(root.uri, f"{left:,} older commits are left out; see source.history.max_commits")
            commits = dict(list(commits.items())[: self.max_commits])
        for commit, time in commits.items():
            yield Found(commit, link + commit, commit, _moment(time), MEDIA, sure=True)
        yield Whole(cursor)

    def _listed(self, opened: Opened, root: SourceRoot, known: Mapping[str, str]) -> dict[str, int | None]:
        """Commits of the revision with their times, newest first: new ones, then the known ones if all are kept."""
        since = opened.address.since
        begin = parse_date(since).timestamp() if since else None
        before, _, limited = root.cursor.partition(" ")
        if known and before and not since and not limited and _contains(opened.reader, opened.tip, before):
            new = _commits(opened, f"{before}..{opened.tip}", None)
            return {**new, **dict.fromkeys(known)}
        return _commits(opened, opened.tip, begin)

    def read(self, found: Found) -> bytes | Skipped:
        log = self._logs.get(found.uri.removesuffix(found.name))
        if log is None:
            return Skipped(found.uri, "its repository is not open")
        try:
            content = log.read(found.name)
        except GitFailed as error:
            log.opened.mark_broken()
            raise problem(found.uri, error, _DAMAGED) from None
        return Skipped(found.uri, "no longer in the repository") if content is None else content

    def dating(self, found: Collection[Found]) -> Dating:
        """The dates of commits. These are all commits to read, so their differences can be computed ahead."""
        for place, log in self._logs.items():
            log.expect([item.name for item in found if item.uri == place + item.name])
        return _CommitTimes()

    def locate(self, uri: str) -> Located:
        address, exists = self._places.located(_parse(uri), self.cache)
        name = f"{address.name}-history"
        return Located(SCHEME + address.uri, name, exists, None, (uri, SCHEME + _without_since(address)), name)

    def supersedes(self, uri: str, place: str) -> bool:
        return _without_since(_parse(uri)) == _without_since(_parse(place))


def _parse(uri: str) -> GitAddress:
    address = parse_address(uri.removeprefix(SCHEME))
    try:
        if address.since:
            parse_date(address.since)
    except ConfigError as error:
        raise SourceProblem(str(error), error.hint) from None
    return address


def _without_since(address: GitAddress) -> str:
    return replace(address, since="").uri


def _moment(time: int | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class _CommitTimes:
    """The time of a commit, whatever dates are looked for."""

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        return found.modified


def _paths(opened: Opened) -> list[str]:
    return ["--", opened.folder] if opened.folder else ["--"]


def _commits(opened: Opened, revisions: str, begin: float | None) -> dict[str, int | None]:
    """Commits with their times, newest first; none before `begin`."""
    arguments = ["rev-list", "--timestamp", "--end-of-options", revisions, *_paths(opened)]
    found: dict[str, int | None] = {}
    for line in opened.reader.output(*arguments).decode("ascii", "replace").splitlines():
        time, _, commit = line.partition(" ")
        if begin is None or int(time) >= begin:
            found[commit] = int(time)
    return found


def _contains(reader: ObjectReader, tip: str, commit: str) -> bool:
    """Whether a commit is in the history of another: then nothing was rewritten."""
    try:
        reader.output("merge-base", "--is-ancestor", "--end-of-options", commit, tip)
    except GitFailed:
        return False
    return True


class _Log:
    """Messages and differences of commits, streamed by one git in the order in which they are read."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self._expected: Sequence[str] = ()
        self._stream: Iterator[tuple[str, bytes]] | None = None

    def expect(self, commits: Sequence[str]) -> None:
        """All commits that are going to be read, in this order."""
        self._expected, self._stream = commits, None

    def read(self, commit: str) -> bytes | None:
        """A commit; None if it no longer exists."""
        if self._stream is None and self._expected:
            self._stream = self._logged(self._expected)
            self._expected = ()
        for found, content in self._stream or ():
            if found == commit:
                return content
            break  # another order: each by itself from here on
        self._stream = None
        if not _contains(self.opened.reader, commit, commit):
            return None
        return next((content for found, content in self._logged([commit]) if found == commit), None)

    def _logged(self, commits: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Each commit with its content. The mark between two is random, so that no content can imitate it."""
        mark = f"\0{secrets.token_hex(16)}\0".encode()
        form = f"--format=tformat:{mark.decode().replace(chr(0), '%x00')}{_FIELDS}"
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{commit}\n" for commit in commits).encode())
            wanted.seek(0)
            arguments = ["log", "--no-walk=unsorted", "--stdin", form, *_DIFF, *_paths(self.opened)]
            with self.opened.reader.start(*arguments, stdin=wanted) as process:
                process.enlarge_pipe()
                for content in _split(process, mark):
                    yield content[: content.find(b"\0")].decode("ascii", "replace"), content


def _split(process: GitProcess, mark: bytes) -> Iterator[bytes]:
    """The output between marks; of a long part only the beginning."""
    buffer = bytearray()
    begun = False
    for block in process.blocks():
        start = max(0, len(buffer) - len(mark))
        buffer += block
        while (end := buffer.find(mark, start)) >= 0:
            if begun:
                yield bytes(buffer[: min(end, MAX_COMMIT_BYTES)])
            begun = True
            del buffer[: end + len(mark)]
            start = 0
        if len(buffer) > 2 * MAX_COMMIT_BYTES:  # the end of it may be half a mark
            del buffer[MAX_COMMIT_BYTES : len(buffer) - len(mark)]
    if begun:
        yield bytes(buffer[:MAX_COMMIT_BYTES])
