"""When did each file of a git work tree last change in a commit? Two calls of git at most, however many files.

Git is run without a shell and with fixed arguments; nothing that a repository's own settings name is started, and
nothing is fetched. If there is no git, or it takes too long, files have their own time stamps.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import subprocess
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO

from watersmeet.core.indexing import Content, Found
from watersmeet.core.system import slashed, trimmed

SECONDS = 5.0
"""How long one call may take; what was read until then counts."""

COMMITS = 50_000
"""How far back to look."""

FEW = 200
"""Up to so many files are named to git one by one."""

_GIT = ("git", "--no-optional-locks", "--no-pager", "--literal-pathspecs", "-c", "log.showSignature=false")
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


@dataclass(slots=True)
class GitDates:
    """The commits that left files as they are; `paths` are those of all files that will be asked for."""

    paths: Collection[str]
    _tops: dict[str, str] = field(default_factory=dict)
    _histories: dict[str, CommitDates] = field(default_factory=dict)

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        """A commit dates a file only as long as that is what it committed."""
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
        """The work tree that a folder lies in; empty if in none."""
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
    """The committed content of the files that were asked for, and when each was committed, read when first needed."""

    top: str
    blobs: dict[str, str] = field(default_factory=dict)
    _times: dict[str, int] | None = None
    _oldest: int | None = None

    def of(self, name: str, content: Content) -> datetime | None:
        """None for a file that is not committed, or was changed since."""
        known = self.blobs.get(name)
        if known is None or known != blob(content, known):
            return None
        if self._times is None:
            self._times = self._read()
        time = self._times.get(name, self._oldest)
        return None if time is None else datetime.fromtimestamp(time, UTC)

    def _read(self) -> dict[str, int]:
        """The newest commit of each file; one that was not met is at least as old as the oldest commit looked at."""
        arguments = ("log", f"--max-count={COMMITS}", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")
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
    """What the last commit holds of these files; nothing if git cannot say."""
    blobs = {}
    for part in _parts(top, "ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", *_paths(names)):
        facts, _, name = part.partition("\t")
        if name in names:
            blobs[name] = facts.split(" ")[2]
    return CommitDates(top, blobs)


def blob(content: Content, like: str) -> str:
    """Git's name for a file's content, by the hash that `like` was made with."""
    make = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    state = make(b"blob %d\0" % content.size(), usedforsecurity=False)
    for block in content.blocks():
        state.update(block)
    return state.hexdigest()


def _paths(names: Collection[str]) -> list[str]:
    """What to name to git: the files, or the folder that they all lie in."""
    if len(names) <= FEW:
        return sorted(names)
    common = posixpath.commonpath(list(names))
    return [common] if common else []


def _parts(top: str, *arguments: str) -> Iterator[str]:
    """Git's output, cut at its NULs as it comes."""
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and the arguments are ours; paths stand behind `--`
            [*_GIT, "-C", top, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
    except OSError:  # there is no git
        return
    timer = threading.Timer(SECONDS, process.kill)
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
