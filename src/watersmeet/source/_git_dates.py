"""Dates of the last commits of files in a git work tree, with at most two calls of git.

Git is run without a shell and with fixed arguments; no program that a repository's configuration names is started, and
nothing is fetched. If git is missing or takes too long, the time stamps of the files are used.
"""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO

from watersmeet.core.indexing import Content, Found
from watersmeet.core.system import slashed, trimmed

TIMEOUT_SECONDS = 5.0
"""Timeout of one call; the output until then is used."""

MAX_COMMITS = 50_000
"""Commits of the history that are read."""

MAX_NAMED_FILES = 200
"""Up to so many files are passed to git by name."""

_GIT = ("git", "--no-optional-locks", "--no-pager", "--literal-pathspecs", "-c", "log.showSignature=false")
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


@dataclass(slots=True)
class GitDates:
    """Commit dates of files; `paths` are all files whose dates will be needed."""

    paths: Collection[str]
    _tops: dict[str, str] = field(default_factory=dict)
    _histories: dict[str, CommitDates] = field(default_factory=dict)

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        """Date of a file; a commit counts only if the file still has the committed content."""
        return self._committed(found.uri, content) if by == "git" else found.modified

    def _committed(self, path: str, content: Content) -> datetime | None:
        top = self._top(os.path.dirname(path))
        if not top:
            return None
        if top not in self._histories:
            here = [p for p in (*self.paths, path) if self._top(os.path.dirname(p)) == top]
            self._histories[top] = history(top, {_below(p, top) for p in here})
        return self._histories[top].of(_below(path, top), content)

    def _top(self, folder: str) -> str:
        """Work tree of a folder; empty if there is none."""
        if folder not in self._tops:
            parent = os.path.dirname(folder)
            if os.path.exists(os.path.join(folder, ".git")):
                self._tops[folder] = folder
            else:
                self._tops[folder] = self._top(parent) if parent != folder else ""
        return self._tops[folder]


def _below(path: str, top: str) -> str:
    return slashed(path[len(trimmed(top)) + 1 :])


@dataclass(slots=True)
class CommitDates:
    """Blob ids of files in the last commit, and the dates of their commits, read at first use."""

    top: str
    blobs: dict[str, str] = field(default_factory=dict)
    _times: dict[str, int] | None = None
    _oldest: int | None = None

    def of(self, name: str, content: Content) -> datetime | None:
        """Commit date of a file; None if it is not committed or was changed since."""
        committed = self.blobs.get(name)
        if committed is None or committed != blob(content, committed):
            return None
        if self._times is None:
            self._times = self._read()
        time = self._times.get(name, self._oldest)
        return None if time is None else datetime.fromtimestamp(time, UTC)

    def _read(self) -> dict[str, int]:
        """Time of the newest commit of each file; files that are missing are older than the oldest commit read."""
        arguments = ("log", f"--max-count={MAX_COMMITS}", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")
        found: dict[str, int] = {}
        time = 0
        for part in _parts(self.top, *arguments, "--name-only", "--format=%x01%ct", "HEAD", "--", *_paths(self.blobs)):
            if part.startswith("\x01"):
                time = int(part[1:])
                self._oldest = time if self._oldest is None else min(self._oldest, time)
                continue
            name = part.removeprefix("\n")
            if name in self.blobs and name not in found:
                found[name] = time
                if len(found) == len(self.blobs):
                    break
        return found


def history(top: str, names: Collection[str]) -> CommitDates:
    """Blob ids of these files in the last commit; empty if git fails."""
    blobs = {}
    for part in _parts(top, "ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", *_paths(names)):
        facts, _, name = part.partition("\t")
        if name in names:
            blobs[name] = facts.split(" ")[2]
    return CommitDates(top, blobs)


def blob(content: Content, like: str) -> str:
    """Git's blob id of a content, with the same hash function as `like`."""
    import hashlib  # lazy: see below

    make = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    state = make(b"blob %d\0" % content.size(), usedforsecurity=False)
    for block in content.blocks():
        state.update(block)
    return state.hexdigest()


def _paths(names: Collection[str]) -> list[str]:
    """Paths to pass to git: the files, or their common folder."""
    if len(names) <= MAX_NAMED_FILES:
        return sorted(names)
    common = posixpath.commonpath(list(names))
    return [common] if common else []


def _parts(top: str, *arguments: str) -> Iterator[str]:
    """Output of git, split at NULs as it arrives."""
    try:
        import subprocess  # lazy: a look at a folder reads no dates

        process = subprocess.Popen(  # noqa: S603 - no shell, fixed arguments, paths after `--`
            [*_GIT, "-C", top, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
    except OSError:  # there is no git
        return
    timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        if process.stdout is not None:
            yield from _cut(process.stdout)
    finally:
        timer.cancel()
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        process.wait()


def _cut(stream: IO[bytes]) -> Iterator[str]:
    rest = b""
    while block := stream.read(1 << 16):
        *whole, rest = (rest + block).split(b"\0")
        for part in whole:
            yield os.fsdecode(part)


def _environment() -> dict[str, str]:
    """The environment of git: ours without its own variables, which could redirect it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET
