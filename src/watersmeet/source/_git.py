"""Git as a child process, for repositories that nobody has to trust.

A repository's configuration can name programs: for diffs, filters, transports, signatures. So objects are read through
a git directory of ours (`_empty`), with the object store of the repository: its configuration is not read at all. Only
names of revisions are resolved in the repository itself, by a command that starts no program. There is no pager, no
prompt and no terminal, and no shell sees anything of it; every wait has a timeout; only fetching may use the network.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Event, Thread
from typing import IO, BinaryIO

from watersmeet.core.errors import SourceProblem
from watersmeet.core.files import FILE_MODE, FOLDER_MODE
from watersmeet.core.names import printable
from watersmeet.source._files import fetch

STALL_SECONDS = 60.0
"""How long git may give no output before it is ended."""
MAX_ERROR_CHARS = 300
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PIPE_BYTES = 1 << 20
_REFUSES_SINCE = {39: 4, 40: 2, 41: 1, 42: 2, 43: 4, 44: 1}
"""The releases before git 2.45 that can be kept from fetching missing objects: patch by minor version."""
_NO_PROGRAMS = {
    "core.fsmonitor": "",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "core.attributesFile": os.devnull,
    "log.showSignature": "false",
    "protocol.ext.allow": "never",
    "credential.interactive": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
GIT = (
    *("git", "--no-optional-locks", "--no-pager", "--no-replace-objects", "--literal-pathspecs"),
    *(part for name, value in _NO_PROGRAMS.items() for part in ("-c", f"{name}={value}")),
)
"""Git and the options of every call."""
NO_GIT = "install it (https://git-scm.com), and see that `git --version` works"


_KEEPER = 'read -r word; [ -n "$word" ] || kill -s KILL -- "-$1"'
"""A script that waits for a word. If there is none, since this process has ended, it ends git and its helpers."""
_WATCH_SECONDS = 0.5
_LIMIT_TICKS = 10


class GitFailed(Exception):
    """A call of git that failed; the message is its own, on one line."""


class GitEnded(GitFailed):
    """A call of git that was ended here: it stalled, took too long, or brought too much."""


def environment(protocol: str = "none") -> dict[str, str]:
    """The environment of git: ours without its own variables, which could redirect it.

    `protocol`: the one by which it may reach other repositories; `none`, even to complete a partial clone.
    """
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
    return kept | {
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",  # also in a fetch: one that lacks an object would fetch it by a fetch, without end
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def can_refuse_lazy_fetches() -> bool:
    """Whether this git heeds `GIT_NO_LAZY_FETCH`: since 2.45, and in the last releases of some lines before."""
    found = re.search(rb"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", output_of(["version"], environment()))
    if found is None:
        return False
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor) >= (2, 45) or (major == 2 and patch >= _REFUSES_SINCE.get(minor, math.inf))


class GitProcess:
    """A running git. It is ended if it stalls, and when the `with` block ends; so are the programs that it started."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: dict[str, str],
        *,
        stdin: BinaryIO | int | None = None,
        progress: bool = False,
        seconds: float = STALL_SECONDS,
        total_seconds: float = math.inf,
        limit: Callable[[], str] = str,
    ) -> None:
        """`progress`: it is a fetch, and what is read is its standard error. `limit`: why to end it, if not empty."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - no shell; revisions after --end-of-options, paths after --
                [*GIT, *arguments],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.DEVNULL if progress else subprocess.PIPE,
                stderr=subprocess.PIPE if progress else self._errors,
                env=environment,
                start_new_session=True,  # without a terminal, ssh cannot ask for a password
            )
        except OSError as error:
            self._errors.close()
            raise SourceProblem(f"git cannot be started: {error.strerror}", NO_GIT) from None
        self._keeper = _keeper(self._process.pid) if progress else None
        self._why = ""  # it was ended
        self._seconds, self._total_seconds, self._limit = seconds, total_seconds, limit
        self._deadline, self._last = math.inf, time.monotonic() + total_seconds
        self._ended = Event()
        Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        tick = 0
        while not self._why and not self._ended.wait(_WATCH_SECONDS):
            tick += 1
            if time.monotonic() > self._deadline:
                self._why = f"git gave no answer for {self._seconds:g} s"
            elif time.monotonic() > self._last:
                self._why = f"git took longer than {self._total_seconds:g} s"
            elif tick % _LIMIT_TICKS == 0:
                self._why = self._limit()
        if self._why:
            self._kill()

    def _kill(self) -> None:
        """End git with the programs that it started, which are in its process group."""
        if self._process.returncode is not None:  # its number may be that of another process by now
            return
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def stdin(self) -> IO[bytes]:
        return _there(self._process.stdin)

    @property
    def _stream(self) -> IO[bytes]:
        return _there(self._process.stdout or self._process.stderr)

    @contextmanager
    def waiting(self) -> Iterator[IO[bytes]]:
        """Its output, to be read before the timeout."""
        self._deadline = time.monotonic() + self._seconds
        try:
            yield self._stream
        finally:
            self._deadline = float("inf")

    def blocks(self) -> Iterator[bytes]:
        """Its output as it arrives; `GitFailed` at the end if it failed."""
        while True:
            with self.waiting() as stream:
                block = stream.read1(1 << 16)  # type: ignore[attr-defined]
            if not block:
                break
            yield block
        self.check()

    def check(self) -> None:
        """Wait for its end; `GitFailed` if it was ended or failed."""
        with self.waiting():
            status = self._process.wait()
        if self._why:
            raise GitEnded(self._why)
        if status:
            raise GitFailed(self.error_message() or f"git ended with status {status}")

    def error_message(self) -> str:
        self._errors.seek(0)
        return shown(self._errors.read(1 << 16))

    def enlarge_pipe(self) -> None:
        """Let git work ahead, while its output is being indexed; where the system can."""
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(self._stream.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def close(self) -> None:
        self._ended.set()
        self._kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr, self._errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()
        if self._keeper is not None:
            self._keeper.communicate(b"done\n")

    def __enter__(self) -> GitProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _keeper(group: int) -> subprocess.Popen[bytes] | None:
    """A process that ends a process group when this one ends, however that happens: no handler of ours runs then.

    Git would go on, and so would its helpers, which wait for a server. None where there is no `sh`.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - a fixed script and a number
            ["/bin/sh", "-c", _KEEPER, "sh", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,  # what ends this process from a terminal does not end it
        )
    except OSError:
        return None


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("git was started without this stream")
    return stream


def shown(output: bytes) -> str:
    """The reason in git's messages: its last lines, printable, on one line."""
    lines = output.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    said = [line.removeprefix("fatal: ").removeprefix("error: ").strip() for line in lines if line.strip()]
    text = " ".join("".join(c if c.isprintable() else " " for c in line) for line in said[-3:])
    return text[-MAX_ERROR_CHARS:]


def output_of(arguments: Sequence[str], env: dict[str, str], seconds: float = STALL_SECONDS) -> bytes:
    """The whole output of a call; `GitFailed` if it failed."""
    with GitProcess(arguments, env, seconds=seconds) as process:
        return b"".join(process.blocks())


def split_at_nul(blocks: Iterator[bytes]) -> Iterator[str]:
    """Items of an output that ends each with a NUL, as it arrives."""
    rest = b""
    for block in blocks:
        *items, rest = (rest + block).split(b"\0")
        for item in items:
            yield os.fsdecode(item)


@dataclass(frozen=True)
class Repository:
    """A repository on disk: its git directory, its work tree if it has one, and the folder for an empty one."""

    folder: str
    work_tree: str
    cache: str

    @cached_property
    def _common(self) -> str:
        """The git directory with the objects: another one, if this is an additional work tree."""
        shared = fetch(os.path.join(self.folder, "commondir"), 1 << 16, "git")
        return os.path.join(self.folder, os.fsdecode(shared.strip())) if isinstance(shared, bytes) else self.folder

    def resolve(self, revision: str) -> str:
        """The hash of a commit; `GitFailed` if there is none of that name. An empty one is the current commit."""
        name = f"{revision or 'HEAD'}^{{commit}}"
        arguments = [f"--git-dir={self.folder}", "rev-parse", "--verify", "--quiet", "--end-of-options", name]
        found = output_of(arguments, environment()).decode("ascii", "replace").strip().rpartition("\n")[2]
        if not _HASH.fullmatch(found):
            raise GitFailed(f"no revision {revision!r}")
        return found

    def revisions(self) -> list[str]:
        """Names of branches and tags."""
        arguments = [f"--git-dir={self.folder}", "rev-parse", "--symbolic", "--branches", "--tags"]
        return output_of(arguments, environment()).decode("utf-8", "replace").splitlines()

    def reader(self, tip: str) -> ObjectReader:
        """A reader of the objects of this repository; `tip` shows which hash function it has."""
        return ObjectReader(self._common, _empty(self.cache, sha256=len(tip) == 64))


@dataclass(frozen=True)
class ObjectReader:
    """Git over the objects of a repository, with a git directory of ours and so without its configuration."""

    repository: str
    empty: str

    @cached_property
    def _environment(self) -> dict[str, str]:
        shallow = os.path.join(self.repository, "shallow")
        return environment() | {
            "GIT_DIR": self.empty,
            "GIT_OBJECT_DIRECTORY": os.path.join(self.repository, "objects"),
            **({"GIT_SHALLOW_FILE": shallow} if os.path.isfile(shallow) else {}),
        }

    def start(self, *arguments: str, stdin: BinaryIO | int | None = None) -> GitProcess:
        return GitProcess(arguments, self._environment, stdin=stdin)

    def output(self, *arguments: str) -> bytes:
        return output_of(arguments, self._environment)

    def items(self, *arguments: str, stdin: BinaryIO | None = None) -> Iterator[str]:
        """The output of a call, split at NULs."""
        with self.start(*arguments, stdin=stdin) as process:
            yield from split_at_nul(process.blocks())


def _empty(cache: str, sha256: bool) -> str:
    """The git directory without refs, with a configuration of ours."""
    place = os.path.join(cache, "git", "empty-sha256" if sha256 else "empty")
    if not os.path.isfile(os.path.join(place, "HEAD")):
        write_git_directory(place, "[extensions]\n\tobjectFormat = sha256\n" if sha256 else "", 1 if sha256 else 0)
    return place


def write_git_directory(place: str, config: str, version: int = 0) -> None:
    """A bare git directory with this configuration: no templates, no hooks. `HEAD` is written last."""
    for folder in (place, os.path.join(place, "objects"), os.path.join(place, "refs")):
        os.makedirs(folder, FOLDER_MODE, exist_ok=True)
    start = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n"
    for name, text in (("config", start + config), ("HEAD", "ref: refs/heads/none\n")):
        with open(os.open(os.path.join(place, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "w") as file:
            file.write(text)


def find_repository(path: str, cache: str) -> tuple[Repository, str] | None:
    """The repository of a path, and the path's folder in it; None if it is in none."""
    here = os.path.realpath(path)
    if not os.path.isdir(here):
        return None
    if _is_git_directory(here):
        return Repository(here, "", cache), ""
    top = here
    while True:
        found = _git_directory(os.path.join(top, ".git"))
        if found:
            below = os.path.relpath(here, top)
            return Repository(found, top, cache), "" if below == os.curdir else below.replace(os.sep, "/")
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent


def _git_directory(path: str) -> str:
    """A git directory: the folder `.git`, or the one that a file of this name points to."""
    if os.path.isdir(path):
        return path if _is_git_directory(path) else ""
    content = fetch(path, 1 << 16, "git") if os.path.isfile(path) else None
    if not isinstance(content, bytes) or not content.startswith(b"gitdir: "):
        return ""
    place = os.path.realpath(os.path.join(os.path.dirname(path), os.fsdecode(content[8:].strip())))
    return place if os.path.isfile(os.path.join(place, "HEAD")) else ""


def _is_git_directory(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))


def problem(place: str, error: GitFailed, hint: str = "") -> SourceProblem:
    return SourceProblem(f"{printable(place)}: {error}", hint)
