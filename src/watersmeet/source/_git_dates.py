"""Dates of the last commits of files in a git work tree, with at most two calls of git.

Git is run without a shell and with fixed arguments; no program that a repository's configuration names is started, and
nothing is fetched. If git is missing or takes too long, the time stamps of the files are used.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from watersmeet.core.indexing import Content, Found
from watersmeet.core.system import slashed, trimmed
from watersmeet.source._git import GIT, GitFailed, ObjectReader, environment, split_at_nul

TIMEOUT_SECONDS = 5.0
"""Timeout of one call; the output until then is used."""

MAX_COMMITS = 50_000
"""Commits of the history that are read."""

MAX_NAMED_FILES = 200
"""Up to so many files are passed to git by name."""

_NAMES = ("--name-only", "--format=%x01%ct")


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
        arguments = (*_log(), *_NAMES, "HEAD", "--", *_paths(self.blobs))
        times, self._oldest = _newest(_parts(self.top, *arguments), self.blobs)
        return times


def _log() -> tuple[str, ...]:
    return ("log", f"--max-count={MAX_COMMITS}", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")


def _newest(parts: Iterator[str], names: Collection[str]) -> tuple[dict[str, int], int | None]:
    """Time of the newest commit of each of these files, in the output of git; and that of the oldest commit read."""
    found: dict[str, int] = {}
    time, oldest = 0, None
    for part in parts:
        if part.startswith("\x01"):
            time = int(part[1:])
            oldest = time if oldest is None else min(oldest, time)
            continue
        name = part.removeprefix("\n")
        if name in names and name not in found:
            found[name] = time
            if len(found) == len(names):
                break
    return found, oldest


def last_changes(reader: ObjectReader, tip: str, folder: str, names: Collection[str]) -> dict[str, datetime]:
    """Dates of the last commits that changed these files of a folder; those older than all commits read have none."""
    below = f"{folder}/" if folder else ""
    paths = {below + name for name in names}
    if not paths:
        return {}
    found: dict[str, int] = {}
    with suppress(GitFailed):
        found, _ = _newest(reader.items(*_log(), *_NAMES, tip, "--", *_paths(paths)), paths)
    return {name.removeprefix(below): datetime.fromtimestamp(time, UTC) for name, time in found.items()}


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
        process = subprocess.Popen(  # noqa: S603 - no shell, fixed arguments, paths after `--`
            [*GIT, "-C", top, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
    except OSError:  # there is no git
        return
    timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        if process.stdout is not None:
            yield from split_at_nul(iter(partial(process.stdout.read, 1 << 16), b""))
    finally:
        timer.cancel()
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        process.wait()
