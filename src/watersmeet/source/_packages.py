"""What the sources of packages share: addresses, the choice of a version, downloads, and the scan.

A root names a package and, if one was given, a version or a range. Each scan asks the registry for the published
versions with one conditional request; only if the choice has changed are archives downloaded. A download that fails, or
whose hash differs, ends the scan before it has offered anything: nothing is changed in the index.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from watersmeet.common.addresses import Guard
from watersmeet.common.addresses import parse as parse_address
from watersmeet.common.http import Client, Reply
from watersmeet.common.http import Version as PageVersion
from watersmeet.common.versions import best, newest_first
from watersmeet.common.versions import parse as parse_version
from watersmeet.core.errors import ConfigError, NoReply, SourceProblem
from watersmeet.core.indexing import Found, Located, Note, Offer, Same, Skipped, Source, SourceRoot, Whole
from watersmeet.core.options import option
from watersmeet.source._archives import Limits, members

BACKOFF_SECONDS = 0.5
DOWNLOAD_SECONDS = 300.0
MAX_LISTING = 64 << 20
MAX_SKIPPED = 100
"""Skipped files of one package that are listed."""
MAX_SHOWN = 8
"""Versions that an error message names."""
DOCUMENTS = (".md", ".markdown", ".mdx", ".rst", ".rest", ".adoc", ".asciidoc", ".org", ".ipynb")
_UNWANTED_FOLDERS = {"test", "tests", "__tests__", "node_modules", "site-packages", "__pycache__"}
_DOCS = {"doc", "docs", "documentation", "man", "manual"}
_EXAMPLES = {"example", "examples"}
_LEGAL = re.compile(r"(?i)(licen[cs]e|copying|notice|authors|contributors|code_of_conduct|security|third.?party)\b.*")
_CHANGES = re.compile(r"(?i)(changelog|changes|history|news|release[-_ ]?notes?|whatsnew)\b.*")
_HOST_NAME = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*")
"""A name of a host that is no IP address in any notation: its last part begins with a letter."""
_HASHES = ("sha512", "sha384", "sha256", "sha1")
"""Hashes that an archive is checked by: the first that the registry states."""


class ArchiveTooLarge(SourceProblem):
    """An archive that is larger than the setting `max_bytes` allows."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a package: its name, and a version or a range, or nothing for the newest one."""

    ecosystem: str
    name: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.ecosystem}:{self.label}"

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class File:
    """A file that a registry links to. `hashes`: hexadecimal, by algorithm."""

    name: str
    url: str
    hashes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Release:
    """A published version. `withdrawn`: it is yanked or deprecated, so it is chosen only by its exact name."""

    version: str
    files: Sequence[File]
    withdrawn: bool = False
    published: datetime | None = None

    @property
    def stamp(self) -> str:
        """Changes if one of its files does."""
        named = [[file.name, sorted(file.hashes.items())] for file in self.files]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Listing:
    """The published versions of a package. `tags`: names of versions, such as `latest`."""

    releases: Mapping[str, Release]
    page: PageVersion = PageVersion()
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A file of a package to index. `media`: as in `Found`."""

    name: str
    content: bytes
    media: str = ""


@dataclass(frozen=True, slots=True)
class _Cursor:
    """What the last complete scan found: the page of the registry, the version chosen, and how many files it has."""

    etag: str = ""
    modified: str = ""
    version: str = ""
    stamp: str = ""
    count: int = 0

    @classmethod
    def of(cls, text: str) -> _Cursor:
        try:
            return cls(*json.loads(text))
        except (ValueError, TypeError):
            return cls()

    def __str__(self) -> str:
        return json.dumps([self.etag, self.modified, self.version, self.stamp, self.count])


@dataclass(frozen=True, slots=True)
class PackageSource(Source):
    """A registry of packages. Its address comes from the user's own client or settings, and is trusted as these are."""

    slow: ClassVar[bool] = True
    ecosystem: ClassVar[str] = ""
    semver: ClassVar[bool] = False

    allowed: list[str] = option(
        [], "further hosts that archives may come from though their addresses are not public", outside=True
    )
    max_bytes: int = option(50_000_000, "the largest archive to download, in bytes", least=0)
    max_changelog: int = option(200_000, "the largest changelog to read, in bytes", least=0)
    _current: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Content of the item that the scan offers at this moment."""

    # ------------------------------------------------------------ what differs between registries

    @abstractmethod
    def parse(self, uri: str) -> Address:
        """The canonical form of an address; `SourceProblem` if it is not valid."""

    @abstractmethod
    def base_url(self, address: Address) -> str:
        """The address of the registry, with a slash at its end."""

    @abstractmethod
    def listing(self, address: Address, page: PageVersion) -> Listing | None:
        """The published versions; None if the page of the registry is unchanged."""

    @abstractmethod
    def items(self, address: Address, release: Release) -> Iterator[Item | Skipped]:
        """The files of a version that are worth reading."""

    # ------------------------------------------------------------ Source

    def locate(self, uri: str) -> Located:
        address = self.parse(uri)
        return Located(str(address), address.label, spellings=(uri,))

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        address, before = self.parse(root.uri), _Cursor.of(root.cursor)
        complete = bool(known) and before.count == len(known)
        page = PageVersion(before.etag, before.modified) if complete else PageVersion()
        listing = self.listing(address, page)
        release = self.choose(address, listing) if listing else None
        if complete and (release is None or (release.version, release.stamp) == (before.version, before.stamp)):
            yield Note(f"version {before.version}, unchanged")
            yield from map(Same, known)
            page = listing.page if listing else page
            yield Whole(str(_Cursor(page.etag, page.modified, before.version, before.stamp, before.count)))
            return
        if listing is None or release is None:
            raise SourceProblem(f"{root.uri}: the registry does not answer as expected", "try again later")
        found = self._found(address, release)
        yield Note(self._choice(release, before))
        count = 0
        for offer, content in found:
            self._current.clear()
            if isinstance(offer, Found):
                self._current[offer.uri] = content
                count += 1
            yield offer
        self._current.clear()
        yield Whole(str(_Cursor(listing.page.etag, listing.page.modified, release.version, release.stamp, count)))

    def read(self, found: Found) -> bytes | Skipped:
        if found.uri in self._current:
            return self._current[found.uri]
        return self._read_again(found)

    def _read_again(self, found: Found) -> bytes | Skipped:
        """Content of an item that was found by an earlier scan: its archive is downloaded again."""
        release = found.uri.removesuffix(f"/{found.name}")
        try:
            address = self.parse(release)
            listing = self.listing(address, PageVersion())
            chosen = self.choose(address, listing) if listing else None
            offers = self._found(address, chosen) if chosen else ()
            for offer, content in offers:
                if isinstance(offer, Found) and (offer.name, offer.stamp) == (found.name, found.stamp):
                    return content
        except SourceProblem as problem:
            return Skipped(found.uri, str(problem))
        return Skipped(found.uri, "no longer in the package")

    # ------------------------------------------------------------ versions

    def choose(self, address: Address, listing: Listing) -> Release:
        releases, wanted = listing.releases, address.version
        wanted = listing.tags.get(wanted or "latest", wanted)
        usable = [version for version, release in releases.items() if not release.withdrawn]
        exact = wanted if wanted in releases and (address.version or wanted in usable) else None
        try:
            chosen = exact or best(wanted if address.version else "", usable, self.semver)
            chosen = chosen or self._equal(wanted, releases)
        except ConfigError as problem:
            raise SourceProblem(f"{address}: {problem}", problem.hint) from None
        if chosen is not None:
            return releases[chosen]
        shown = newest_first(usable or releases, self.semver)[:MAX_SHOWN]
        if not shown:
            raise SourceProblem(f"{address} has no version with a file that can be read", "check the name")
        kind = "published are" if usable else "all are withdrawn; to read one all the same, name it exactly:"
        fitting = f"fits {address.version}" if address.version else "can be chosen"
        raise SourceProblem(f"no version of {address.name} {fitting}", f"{kind} {', '.join(shown)}")

    def _equal(self, wanted: str, releases: Mapping[str, Release]) -> str | None:
        """A withdrawn version that was named exactly, though spelled otherwise."""
        version = parse_version(wanted, self.semver)
        is_exact = version is not None and len(version.release) >= 3
        return next((text for text in releases if is_exact and parse_version(text, self.semver) == version), None)

    def _choice(self, release: Release, before: _Cursor) -> str:
        withdrawn = "; it is withdrawn (yanked or deprecated)" if release.withdrawn else ""
        is_proven = all(not file.hashes.keys().isdisjoint(_HASHES) for file in release.files)
        unproven = "" if is_proven else "; the registry states no hash to check it by"
        instead = f", which replaces {before.version}" if before.version not in ("", release.version) else ""
        return f"version {release.version}{instead}{withdrawn}{unproven}"

    # ------------------------------------------------------------ files

    def _found(self, address: Address, release: Release) -> list[tuple[Found | Skipped, bytes]]:
        own = Address(address.ecosystem, address.name, release.version)
        fields = (
            ("ecosystem", own.ecosystem),
            ("package", own.name),
            ("version", own.version),
            ("release", str(own)),
        )
        offers: list[tuple[Found | Skipped, bytes]] = []
        names: set[str] = set()
        skipped = 0
        for item in self.items(own, release):
            if isinstance(item, Skipped):
                skipped += 1
                if skipped <= MAX_SKIPPED:
                    offers.append((Skipped(f"{own}/{item.path}", item.reason), b""))
            elif item.name not in names:
                names.add(item.name)
                stamp = f"{release.version} {hashlib.sha256(item.content).hexdigest()[:32]}"
                found = Found(
                    item.name, f"{own}/{item.name}", stamp, release.published, item.media, sure=True, fields=fields
                )
                offers.append((found, item.content))
        if skipped > MAX_SKIPPED:
            offers.append((Skipped(str(own), f"{skipped - MAX_SKIPPED:,} more files were skipped"), b""))
        return offers

    def is_document(self, path: str) -> bool:
        """Whether a file is documentation by its name and folder."""
        *folders, name = path.split("/")
        if any(map(_is_unwanted, folders)):
            return False
        if name.startswith(".") or _LEGAL.match(name):
            return False
        name, outer = name.casefold(), {folder.casefold() for folder in folders}
        if name.endswith(".txt"):
            return name.startswith("readme") or (not outer.isdisjoint(_DOCS) and not name.startswith("requirements"))
        return name.endswith(DOCUMENTS) or name == "readme" or is_example(path)

    def unpack(self, file: File, content: bytes, wanted: Sequence[str] = ()) -> Iterator[Item | Skipped]:
        """Documentation in an archive, and files with these endings."""
        endings = tuple(wanted)

        def is_wanted(path: str) -> bool:
            folders = path.split("/")[:-1]
            if endings and path.endswith(endings):
                return not any(map(_is_unwanted, folders))
            return self.is_document(path)

        for path, one in members(file.name, content, is_wanted, Limits()).items():
            if isinstance(one, Skipped):
                yield one
            elif len(one) > self.max_changelog and _CHANGES.match(path.rpartition("/")[2]):
                yield Skipped(path, f"a changelog of more than {self.max_changelog:,} bytes")
            else:
                yield Item(path, one, ".txt" if path.rpartition("/")[2].casefold() == "readme" else "")

    # ------------------------------------------------------------ requests

    def request(self, address: Address, url: str, accept: str, page: PageVersion) -> Reply:
        """A page of the registry, or that it is unchanged; any error is a `SourceProblem`."""
        registry = _host(self.base_url(address))
        client = Client(Guard((registry, *self.allowed)), backoff=BACKOFF_SECONDS, max_bytes=MAX_LISTING)
        reply = _request(address, client, url, {"Accept": accept}, page)
        if reply.status == 404:
            raise SourceProblem(f"the registry has no package {address.name!r}", "check the spelling of its name")
        return reply

    def download(self, address: Address, file: File) -> bytes:
        """An archive, checked by its hash. See docs/decisions/0036-packages.md for the hosts that may serve it."""
        hosts = (_host(self.base_url(address)), *_link_host(file.url), *self.allowed)
        client = Client(
            Guard(hosts),
            timeout=DOWNLOAD_SECONDS / 2,
            deadline=DOWNLOAD_SECONDS,
            backoff=BACKOFF_SECONDS,
            max_bytes=self.max_bytes,
        )
        try:
            reply = _request(address, client, file.url, {}, PageVersion())
        except SourceProblem as problem:
            if "answers with more than" not in str(problem):
                raise
            raise ArchiveTooLarge(
                f"{address}: {file.name} is larger than {self.max_bytes:,} bytes",
                f"see source.{self.ecosystem}.max_bytes",
            ) from problem
        if reply.status == 404:
            raise SourceProblem(f"{address}: {file.name} is not where the registry says", "try again later")
        content = reply.body
        algorithm = next((name for name in _HASHES if name in file.hashes), "")
        if algorithm and hashlib.new(algorithm, content).hexdigest() != file.hashes[algorithm].lower():
            raise SourceProblem(
                f"{address}: {file.name} is not what the registry describes: its {algorithm} differs",
                "nothing was changed; try again later, and tell the registry if it stays so",
            )
        return content


def _is_unwanted(folder: str) -> bool:
    """Whether a folder is hidden, or holds nothing for users. One that leads out is refused later, with a reason."""
    return folder.casefold() in _UNWANTED_FOLDERS or (folder.startswith(".") and folder.strip(".") != "")


def is_example(path: str) -> bool:
    *folders, name = path.casefold().split("/")
    return not _EXAMPLES.isdisjoint(folders) and name.endswith((".py", ".js", ".mjs", ".ts", ".tsx", ".jsx"))


def _request(address: Address, client: Client, url: str, headers: Mapping[str, str], page: PageVersion) -> Reply:
    """The reply of a server: found, not found, or unchanged; anything else is a `SourceProblem`."""
    try:
        reply = client.get(url, headers, page)
    except NoReply as problem:
        raise SourceProblem(f"{address}: {problem}", problem.hint) from problem
    if reply.status not in (200, 404) and not (reply.unchanged and page != PageVersion()):
        raise SourceProblem(f"{address}: {reply.error}", "nothing was changed; try again later")
    return reply


def _host(url: str) -> str:
    try:
        target = parse_address(url)
    except NoReply as problem:
        raise SourceProblem(f"the address of the registry is {problem}", problem.hint) from None
    return f"{target.host}:{target.port}"


def _link_host(url: str) -> tuple[str, ...]:
    """The host and port of a link, if the registry's word for it is enough: a name, over https."""
    try:
        target = parse_address(url)
    except NoReply:
        return ()
    is_name = _HOST_NAME.fullmatch(target.host) is not None
    return (f"{target.host}:{target.port}",) if target.scheme == "https" and is_name else ()
