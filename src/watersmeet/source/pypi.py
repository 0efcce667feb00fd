"""Python packages from a package index: documentation of the sdist, and signatures and docstrings of the wheel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.errors import MessageError
from email.parser import BytesParser
from html.parser import HTMLParser
from typing import Any, ClassVar
from urllib.parse import unquote, urldefrag, urljoin

from watersmeet.common.http import Reply
from watersmeet.common.http import Version as PageVersion
from watersmeet.common.versions import MAX_LENGTH, parse
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Skipped
from watersmeet.core.options import option
from watersmeet.source._archives import ENDINGS
from watersmeet.source._packages import (
    Address,
    ArchiveTooLarge,
    File,
    Item,
    Listing,
    PackageSource,
    Release,
    is_example,
)

API = "text/x-python-api"
"""Media type of a module of which signatures and docstrings are read; its code is not."""
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_README_ENDINGS = {"text/markdown": "md", "text/x-rst": "rst", "text/plain": "txt"}
_SCRIPTS = ("setup.py", "conf.py", "conftest.py", "noxfile.py", "tasks.py")


@dataclass(frozen=True, slots=True)
class Pypi(PackageSource):
    """A source of Python packages: `pypi:NAME` or `pypi:NAME@VERSION`."""

    schemes: ClassVar[tuple[str, ...]] = ("pypi:",)
    ecosystem: ClassVar[str] = "pypi"

    index: str = option("", "the address of the package index (PEP 503 or 691); empty: the one that pip uses", True)

    def parse(self, uri: str) -> Address:
        name, _, version = uri.removeprefix("pypi:").strip().partition("@")
        if not _NAME.fullmatch(name) or "/" in version or len(version) > MAX_LENGTH or not version.isprintable():
            raise SourceProblem(
                f"{uri!r} is not the address of a Python package", "for example pypi:click or pypi:click@8.x"
            )
        version = " ".join(version.split())
        return Address(self.ecosystem, normalize(name), "" if version == "latest" else version)

    def base_url(self, address: Address) -> str:
        if self.index:
            return self.index.rstrip("/") + "/"
        from watersmeet.source._registry_address import pip_index

        return pip_index().rstrip("/") + "/"

    def listing(self, address: Address, page: PageVersion) -> Listing | None:
        reply = self.request(address, f"{self.base_url(address)}{address.name}/", _ACCEPT, page)
        if reply.unchanged:
            return None
        is_json = "json" in (reply.headers.get("Content-Type") or "")
        try:
            links = list(_from_json(reply) if is_json else _from_html(reply))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise SourceProblem(f"the package index does not list {address.name} as expected: {problem}") from problem
        releases: dict[str, list[_Link]] = {}
        for link in links:
            if version := version_of(link.file.name, address.name):
                releases.setdefault(version, []).append(link)
        return Listing({version: _release(version, files) for version, files in releases.items()}, reply.version)

    def items(self, address: Address, release: Release) -> Iterator[Item | Skipped]:
        sdist, wheel = choose_files(release.files)
        from_wheel: Iterator[Item | Skipped] = iter(())
        if wheel:
            try:
                from_wheel = self._of_wheel(self.download(address, wheel), wheel)
            except ArchiveTooLarge as problem:
                if sdist is None:
                    raise
                wheel = None  # programs for one platform; the sdist has the modules, too
                yield Skipped(release.version, f"{problem}; {problem.hint}")
        readme = False
        if sdist:
            content = self.download(address, sdist)
            for item in self.unpack(sdist, content, [] if wheel else [".py", ".pyi"]):
                if isinstance(item, Item):
                    item = replace(item, name=item.name.removeprefix("src/"))  # as it is in the wheel
                    readme = readme or item.name.casefold().startswith("readme")
                    if item.name.endswith((".py", ".pyi")) and not is_example(item.name):
                        if item.name in _SCRIPTS or item.name.startswith(("docs/", "doc/")):
                            continue
                        item = replace(item, media=API)
                yield item
        for item in from_wheel:
            if not (readme and isinstance(item, Item) and item.name.startswith("README.")):
                yield item

    def _of_wheel(self, content: bytes, file: File) -> Iterator[Item | Skipped]:
        for item in self.unpack(file, content, [".py", ".pyi", ".dist-info/METADATA"]):
            if isinstance(item, Skipped):
                yield item
            elif item.name.endswith(".dist-info/METADATA"):
                yield from _readme(item.content)
            elif item.name.endswith((".py", ".pyi")):
                yield replace(item, media=API)
            elif ".dist-info/" not in item.name and ".data/" not in item.name:
                yield item


def normalize(name: str) -> str:
    """The name of a package as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def version_of(filename: str, package: str) -> str:
    """The version in the name of an sdist or wheel of a package; empty if it is neither."""
    ending = next((ending for ending in ENDINGS if filename.endswith(ending)), "")
    stem = filename.removesuffix(ending)
    if not ending or not filename.isprintable() or "/" in filename or len(filename) > MAX_LENGTH:
        return ""
    if ending == ".whl":
        parts = stem.split("-")
        named = len(parts) in (5, 6) and normalize(parts[0]) == package
        return parts[1] if named and parse(parts[1]) else ""
    for at in (match.start() for match in re.finditer("-", stem)):
        if normalize(stem[:at]) == package and parse(stem[at + 1 :]):
            return stem[at + 1 :]
    return ""


def choose_files(files: Sequence[File]) -> tuple[File | None, File | None]:
    """The sdist and the wheel to read: of several wheels the one for every platform, else the first."""
    wheels = sorted((file for file in files if file.name.endswith(".whl")), key=_preference)
    sdists = [file for file in files if not file.name.endswith(".whl")]
    return next(iter(sdists), None), next(iter(wheels), None)


def _preference(wheel: File) -> tuple[bool, bool, str]:
    return not wheel.name.endswith("-none-any.whl"), "-cp3" not in wheel.name, wheel.name


@dataclass(frozen=True, slots=True)
class _Link:
    """A link of an index page."""

    file: File
    yanked: bool
    published: datetime | None


def _release(version: str, links: Sequence[_Link]) -> Release:
    usable = [link for link in links if not link.yanked]
    dates = [link.published for link in links if link.published]
    return Release(version, [link.file for link in usable or links], not usable, min(dates, default=None))


def _from_json(reply: Reply) -> Iterator[_Link]:
    """The files of a page in the form of PEP 691."""
    page: Any = json.loads(reply.body)
    for one in page["files"]:
        hashes: Mapping[str, Any] = one.get("hashes") or {}
        checked = {str(name): str(value) for name, value in hashes.items()}
        file = File(str(one["filename"]), urljoin(reply.url, str(one["url"])), checked)
        yield _Link(file, bool(one.get("yanked", False)), _date(one.get("upload-time")))


def _from_html(reply: Reply) -> Iterator[_Link]:
    """The files of a page in the form of PEP 503."""
    page = _Anchors()
    page.feed(reply.body.decode(errors="replace"))
    page.close()
    for attributes in page.found:
        url, fragment = urldefrag(urljoin(reply.url, attributes.get("href") or ""))
        algorithm, _, value = fragment.partition("=")
        file = File(unquote(url.rpartition("/")[2]), url, {algorithm: value} if value else {})
        yield _Link(file, "data-yanked" in attributes, _date(attributes.get("data-upload-time")))


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))


def _date(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _readme(metadata: bytes) -> Iterator[Item]:
    """The README that a wheel carries in its metadata."""
    try:
        message = BytesParser().parsebytes(metadata)
    except (MessageError, ValueError, RecursionError):
        return
    content = message.get_payload(decode=True)
    kind = str(message.get("Description-Content-Type") or "text/x-rst").partition(";")[0].strip().lower()
    if isinstance(content, bytes) and content.strip():
        yield Item(f"README.{_README_ENDINGS.get(kind, 'txt')}", content)
