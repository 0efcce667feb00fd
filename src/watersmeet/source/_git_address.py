"""Addresses of git repositories: `git+https://host/repository@revision#folder`, `git+/path`, and links for reading."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlsplit

from watersmeet.core.errors import SourceProblem
from watersmeet.core.names import is_text, printable

FORM = "write git+https://host/repository, git+ssh://user@host/repository or git+/path, then @revision and #folder"
_PROTOCOLS = ("https", "http", "ssh")
_SINCE = "?since="
_MAX_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class GitAddress:
    """A parsed address. `url`: of a repository elsewhere, else empty; `path`: of one on this machine, else empty."""

    url: str = ""
    path: str = ""
    revision: str = ""
    folder: str = ""
    since: str = ""

    @property
    def uri(self) -> str:
        """The address in its one spelling, without its scheme `git+` or `history+`."""
        revision = f"@{self.revision}" if self.revision else ""
        folder = f"#{self.folder}" if self.folder else ""
        return (self.url or self.path) + revision + folder + (_SINCE + self.since if self.since else "")

    @property
    def protocol(self) -> str:
        return urlsplit(self.url).scheme if self.url else ""

    @property
    def name(self) -> str:
        """The name for display: that of the repository."""
        place = (urlsplit(self.url).path if self.url else self.path).rstrip("/" + os.sep)
        name = os.path.basename(place).removesuffix(".git") or os.path.basename(os.path.dirname(place))
        return unquote(name) or "repository"

    def link(self, name: str, at: str = "") -> str:
        """Where a person can open a file; `at` is its revision. On known hosts its page, else the address with it."""
        revision = at or self.revision or "HEAD"
        page = self._page()
        if page:
            return f"{page[0]}{page[1]}{quote(revision)}/{quote(name)}"
        return f"git+{replace(self, folder=name, since='').uri}"

    def commit_link(self) -> str:
        """Where a person can open a commit, without its hash at the end."""
        page = self._page()
        return f"{page[0]}{page[2]}" if page else f"git+{self.url or self.path}@"

    def _page(self) -> tuple[str, str, str] | None:
        """The web page of the repository, and what comes before revision and path, and before a commit."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        place = f"https://{host}{parts.path.rstrip('/').removesuffix('.git')}"
        if host == "github.com":
            return place, "/blob/", "/commit/"
        if host == "gitlab.com" or host.startswith("gitlab."):
            return place, "/-/blob/", "/-/commit/"
        return (place, "/src/", "/commits/") if host == "bitbucket.org" else None


def parse_address(text: str) -> GitAddress:
    """An address without its scheme `git+` or `history+`; `SourceProblem` if it is not valid."""
    if len(text) > _MAX_LENGTH or not is_text(text) or any(ord(character) < 32 for character in text):
        raise SourceProblem("not the address of a git repository: it is too long or has control characters", FORM)
    text, _, since = text.partition(_SINCE)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme and scheme[1].lower() != "file":
        return _checked(_remote(text, scheme[1].lower()), since)
    if scheme:
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise SourceProblem(f"{printable(text)}: a file address names no machine", FORM)
        text = text[len("file://") + len(parts.netloc) :]
    return _checked(_local(text), since)


def _remote(text: str, protocol: str) -> GitAddress:
    if protocol not in _PROTOCOLS:
        raise SourceProblem(f"git is not fetched by {protocol}://", FORM)
    text, _, folder = text.partition("#")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or host.startswith("-") or (parts.username or "").startswith("-"):
        raise SourceProblem(f"{printable(text)}: not the address of a git repository", FORM)
    if parts.password or (protocol != "ssh" and parts.username):
        raise SourceProblem(
            "a password or token in an address would be stored in the index",
            "leave it out: git's own credential helper, or ssh, knows who you are",
        )
    path, _, revision = parts.path.partition("@")
    user = f"{parts.username}@" if parts.username else ""
    shown = f"[{host}]" if ":" in host else host
    place = f"{protocol}://{user}{shown}{f':{port}' if port else ''}{path.rstrip('/')}"
    return GitAddress(url=place, revision=revision, folder=folder)


def _local(text: str) -> GitAddress:
    """A path may hold `@` and `#` itself: the longest one that exists is it."""
    path, revision, folder = text, "", ""
    if not os.path.exists(path):
        path, _, folder = text.rpartition("#") if "#" in text else (text, "", "")
    if not os.path.exists(path) and "@" in path:
        path, _, revision = path.rpartition("@")
    if not path:
        raise SourceProblem("a path is missing", FORM)
    return GitAddress(path=os.path.realpath(path), revision=revision, folder=folder)


def _checked(address: GitAddress, since: str) -> GitAddress:
    folder = address.folder.strip("/")
    if ".." in folder.split("/"):
        raise SourceProblem(f"{printable(folder)}: a folder of the repository is named from its top", FORM)
    if address.revision.startswith("-") or re.search(r"[\s~^:?*\[\\]|\.\.|@\{", address.revision):
        raise SourceProblem(
            f"{printable(address.revision)}: not a revision", "name a branch, a tag or the hash of a commit"
        )
    return replace(address, folder=folder, since=since.strip())
