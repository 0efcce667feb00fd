"""Clones of repositories elsewhere: bare, ours, in the user's cache folder, fetched again by each sync.

The configuration of a clone is written here, so that it holds nothing that a server said. A clone for files has no file
contents at first, where the server can leave them out; those that are needed are fetched together. A clone that cannot
be brought up to date is made anew beside the old one, and replaces it only if that works.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from watersmeet.common.addresses import Guard, Target, resolve
from watersmeet.core.errors import AddressRefused, SourceProblem
from watersmeet.core.files import make_private, tighten
from watersmeet.core.indexing import FetchProgress
from watersmeet.core.locks import locked
from watersmeet.core.system import replace_path
from watersmeet.source._git import (
    GitEnded,
    GitFailed,
    GitProcess,
    Repository,
    can_refuse_lazy_fetches,
    environment,
    shown,
    write_git_directory,
)
from watersmeet.source._git_address import GitAddress

HEAD = "refs/watersmeet/head"
"""Where the current commit of the other repository is kept."""
BROKEN = "broken"
"""Name of the file that marks a clone whose objects could not be read."""
_UNFINISHED = ".new-"
"""What follows the name of a clone in that of a folder where it is made."""
LOCK_SECONDS = 600.0
RESOLVE_SECONDS = 10.0
_PORTS = {"https": 443, "http": 80, "ssh": 22}
_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", f"+HEAD:{HEAD}")
_STEP = re.compile(rb"([A-Z][a-z]+ [a-z]+):\s+\d+% \((\d+)/(\d+)\)(?:, ([\d.]+) ([KMG]?)i?B)?")
_SIZES = {b"": 1, b"K": 1 << 10, b"M": 1 << 20, b"G": 1 << 30}
_AGAIN = "check the address, the network and your rights; nothing was changed, try again later"


@dataclass(frozen=True, slots=True)
class Cloning:
    """How repositories elsewhere are reached."""

    source: str  # whose settings these are
    cache: str
    allowed: tuple[str, ...]
    max_bytes: int
    stall_seconds: float
    fetch_seconds: float

    def fetched(self, address: GitAddress, contents: bool, progress: FetchProgress) -> Repository:
        """The clone of a repository, up to date; `contents`: with those of all files, for a history.

        A git that cannot be kept from fetching missing objects gets them all: see `environment`.
        """
        protected = self._checked(address)
        contents = contents or not can_refuse_lazy_fetches()
        folder = os.path.join(self.cache, "git", _folder_name(address, contents))
        make_private(os.path.dirname(folder))
        with locked(os.path.dirname(folder), LOCK_SECONDS, f"{os.path.basename(folder)}.lock"):
            _tidy(folder)
            try:
                if os.path.isfile(os.path.join(folder, "HEAD")) and not os.path.exists(os.path.join(folder, BROKEN)):
                    try:
                        self._fetch(folder, address, protected, progress)
                        return Repository(folder, "", self.cache)
                    except GitEnded:  # a fresh clone would take even longer
                        raise
                    except GitFailed:
                        pass
                self._anew(folder, address, contents, protected, progress)
            except GitFailed as error:
                raise SourceProblem(f"{address.url} cannot be fetched: {error}", _AGAIN) from None
        return Repository(folder, "", self.cache)

    def fetch_contents(self, folder: str, address: GitAddress, blobs: Sequence[str], progress: FetchProgress) -> None:
        """Fetch the contents of files that a clone lacks, in one request."""
        protected = self._checked(address)
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{blob}\n" for blob in blobs).encode())
            wanted.seek(0)
            arguments = ["-c", "fetch.negotiationAlgorithm=noop", *protected]
            options = ["--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin"]
            try:
                self._run(folder, arguments, options, [], address.protocol, progress, wanted)
            except GitFailed as error:
                raise SourceProblem(f"{address.url} cannot be fetched: {error}", _AGAIN) from None

    def _anew(
        self, folder: str, address: GitAddress, contents: bool, protected: Sequence[str], progress: FetchProgress
    ) -> None:
        fresh = tempfile.mkdtemp(prefix=os.path.basename(folder) + _UNFINISHED, dir=os.path.dirname(folder))
        try:
            write_git_directory(fresh, _config(address.url, contents), 0 if contents else 1)
            self._fetch(fresh, address, protected, progress)
            shutil.rmtree(folder, ignore_errors=True)
            replace_path(fresh, folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _fetch(self, folder: str, address: GitAddress, protected: Sequence[str], progress: FetchProgress) -> None:
        self._run(folder, protected, ["--prune", "--no-tags", "--force"], _REFS, address.protocol, progress)
        if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", address.revision):
            try:
                Repository(folder, "", self.cache).resolve(address.revision)
            except GitFailed:  # a commit of no branch, such as that of a pull request
                self._run(folder, protected, ["--no-tags"], [address.revision], address.protocol, progress)
        tighten(folder)

    def _run(
        self,
        folder: str,
        options: Sequence[str],
        arguments: Sequence[str],
        refs: Sequence[str],
        protocol: str,
        progress: FetchProgress,
        stdin: object = None,
    ) -> None:
        """Fetch, with progress; ended if it stalls or brings too much."""
        command = [f"--git-dir={folder}", *options, "fetch", "--progress", "--no-recurse-submodules", *arguments]
        command += ["origin", *refs]
        said = b""
        with GitProcess(
            command,
            environment(protocol),
            stdin=stdin,  # type: ignore[arg-type]
            progress=True,
            seconds=self.stall_seconds,
            total_seconds=self.fetch_seconds,
            limit=lambda: "too large" if _size(folder) > self.max_bytes else "",
        ) as process:
            try:
                for block in process.blocks():
                    said = (said + block)[-4096:]
                    for doing, done, total, size, unit in _STEP.findall(said[-200:])[-1:]:
                        progress(doing.decode().lower(), int(done), int(total))
                        if size and float(size) * _SIZES[unit] > self.max_bytes:
                            raise self._too_large()
            except GitEnded:
                if _size(folder) > self.max_bytes:
                    raise self._too_large() from None
                raise
            except GitFailed:
                lines = [line for line in re.split(rb"[\r\n]", said) if not _STEP.search(line)]
                raise GitFailed(shown(b"\n".join(lines))) from None

    def _too_large(self) -> SourceProblem:
        return SourceProblem(
            f"a repository of more than {self.max_bytes / 1e9:g} GB is not fetched",
            f"clone it yourself and sync the folder, or raise source.{self.source}.max_clone_bytes",
        )

    def _checked(self, address: GitAddress) -> list[str]:
        """Options for a machine that may be reached, at the address that was checked; else `SourceProblem`."""
        parts = urlsplit(address.url)
        host, protocol = (parts.hostname or "").rstrip("."), address.protocol
        port = parts.port or _PORTS[protocol]
        allowed = not {host, f"{host}:{port}"}.isdisjoint(name.lower() for name in self.allowed)
        try:
            addresses = resolve(host, port, RESOLVE_SECONDS)
        except OSError as error:
            if protocol == "ssh" or allowed:  # a name of the user's ssh configuration
                return []
            raise SourceProblem(f"{host} cannot be found: {error}", _AGAIN) from None
        try:
            Guard(self.allowed).check(Target(protocol, host, port, "/"), addresses)
        except AddressRefused as refused:
            raise SourceProblem(
                str(refused), f"if you trust it, add {host} to `allowed` under [source.{self.source}]"
            ) from None
        pinned = ",".join(f"[{one.ip}]" if ":" in one.ip else one.ip for one in addresses)
        return [
            *("-c", "http.followRedirects=false"),
            *(("-c", f"http.curloptResolve={host}:{port}:{pinned}") if protocol != "ssh" else ()),
        ]


def _tidy(folder: str) -> None:
    """Delete what fetches that were killed have left of this clone. It is locked, so that none is under way."""
    with suppress(OSError), os.scandir(os.path.dirname(folder)) as entries:
        for entry in entries:
            if entry.name.startswith(os.path.basename(folder) + _UNFINISHED):
                shutil.rmtree(entry.path, ignore_errors=True)
    with suppress(OSError), os.scandir(os.path.join(folder, "objects", "pack")) as entries:
        for entry in entries:
            if entry.name.startswith("tmp_"):
                os.unlink(entry.path)


def _size(folder: str) -> int:
    """Bytes below a folder. Progress does not tell, if a server has only plain files."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    return size


def _folder_name(address: GitAddress, contents: bool) -> str:
    digest = hashlib.sha256(address.url.encode()).hexdigest()[:16]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", address.name)[:40]
    return f"{name}-{digest}{'-history' if contents else ''}"


def _config(url: str, contents: bool) -> str:
    """The configuration of a clone. Quotes keep an address from being more than a value."""
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    remote = f'[remote "origin"]\n\turl = "{quoted}"\n'
    if contents:
        return remote
    return f"{remote}\tpromisor = true\n\tpartialCloneFilter = blob:none\n[extensions]\n\tpartialClone = origin\n"
