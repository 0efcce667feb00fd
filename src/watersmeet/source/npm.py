"""npm packages from a registry: README, documentation and type declarations."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from watersmeet.common.http import Version as PageVersion
from watersmeet.common.versions import MAX_LENGTH
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Skipped
from watersmeet.core.options import option
from watersmeet.source._packages import Address, File, Item, Listing, PackageSource, Release

_ACCEPT = "application/vnd.npm.install-v1+json, application/json;q=0.5"
_NAME = re.compile(r"(?P<name>(?:@[a-z0-9~_.-]{1,100}/)?[a-z0-9~_-][a-z0-9~_.-]{0,213})(?:@(?P<version>.*))?", re.I)
_TYPES = (".d.ts", ".d.mts", ".d.cts")
_OLDER = re.compile(r"ts\d[\d.]{0,9}/")
"""The folder of the same declarations for older compilers."""
_MANIFEST = "package.json"


@dataclass(frozen=True, slots=True)
class Npm(PackageSource):
    """A source of npm packages: `npm:NAME`, `npm:NAME@VERSION` or `npm:@SCOPE/NAME@VERSION`."""

    schemes: ClassVar[tuple[str, ...]] = ("npm:",)
    ecosystem: ClassVar[str] = "npm"
    semver: ClassVar[bool] = True

    registry: str = option("", "the address of the registry; empty: the one that npm uses", True)
    types: bool = option(True, "for a package without type declarations, also read those of @types/NAME")

    def parse(self, uri: str) -> Address:
        match = _NAME.fullmatch(uri.removeprefix("npm:").strip())
        version = (match["version"] or "" if match else "").strip()
        if match is None or "/" in version or len(version) > MAX_LENGTH or not version.isprintable():
            raise SourceProblem(
                f"{uri!r} is not the address of an npm package",
                "for example npm:zod, npm:zod@3.x or npm:@tanstack/query-core@5",
            )
        version = " ".join(version.split())
        return Address(self.ecosystem, match["name"], "" if version == "latest" else version)

    def base_url(self, address: Address) -> str:
        if self.registry:
            return self.registry.rstrip("/") + "/"
        from watersmeet.source._registry_address import npm_registry

        scope = address.name.partition("/")[0] if address.name.startswith("@") else ""
        return npm_registry(scope).rstrip("/") + "/"

    def listing(self, address: Address, page: PageVersion) -> Listing | None:
        url = f"{self.base_url(address)}{address.name.replace('/', '%2f')}"
        reply = self.request(address, url, _ACCEPT, page)
        if reply.unchanged:
            return None
        try:
            document: Any = json.loads(reply.body)
            releases = dict(_releases(document["versions"], document.get("time") or {}))
            tags = {str(tag): str(version) for tag, version in (document.get("dist-tags") or {}).items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise SourceProblem(f"the registry does not list {address.name} as expected: {problem}") from problem
        return Listing(releases, reply.version, tags)

    def items(self, address: Address, release: Release) -> Iterator[Item | Skipped]:
        has_types = False
        for item in self._of_tarball(address, release):
            has_types = has_types or (isinstance(item, Item) and item.name.endswith(_TYPES))
            yield item
        if self.types and not has_types and not address.name.startswith("@types/"):
            yield from self._separate_types(address)

    def _of_tarball(self, address: Address, release: Release) -> Iterator[Item | Skipped]:
        (file,) = release.files
        found = list(self.unpack(file, self.download(address, file), [*_TYPES, _MANIFEST]))
        names = {item.name for item in found if isinstance(item, Item)}
        for item in found:
            if isinstance(item, Skipped):
                yield item
            elif item.name == _MANIFEST:
                yield from _description(item.content)
            elif item.name.endswith(_MANIFEST) or _is_twin(item.name, names):
                continue
            else:
                yield item

    def _separate_types(self, address: Address) -> Iterator[Item | Skipped]:
        """The declarations that others have written for a package: those of its major version, else the newest."""
        name = address.name.removeprefix("@").replace("/", "__")
        major = address.version.partition(".")[0]
        for version in (major, ""):
            types = Address(self.ecosystem, f"@types/{name}", version)
            try:
                listing = self.listing(types, PageVersion())
                release = self.choose(types, listing) if listing else None
            except SourceProblem:  # there are none, or not for this version
                continue
            if release is not None:
                for item in self._of_tarball(replace(types, version=release.version), release):
                    if isinstance(item, Item) and item.name.endswith(_TYPES) and not _OLDER.match(item.name):
                        yield replace(item, name=f"@types/{name}/{item.name}")
                return


def _releases(versions: Mapping[str, Any], times: Mapping[str, Any]) -> Iterator[tuple[str, Release]]:
    """The versions that have an archive."""
    for version, one in versions.items():
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            yield version, _release(version, one, times.get(version))


def _release(version: str, one: Mapping[str, Any], time: object) -> Release:
    dist = one["dist"]
    hashes = dict(_integrity(str(dist.get("integrity") or "")))
    if dist.get("shasum") and not hashes:
        hashes["sha1"] = str(dist["shasum"])
    url = str(dist["tarball"])
    file = File(f"{version}.tgz", url, hashes)
    try:
        published = datetime.fromisoformat(str(time))
    except ValueError:
        published = None
    return Release(version, [file], bool(one.get("deprecated")), published if published and published.tzinfo else None)


def _integrity(text: str) -> Iterator[tuple[str, str]]:
    """Hashes of a Subresource Integrity value, in hexadecimal."""
    for part in text.split():
        algorithm, _, value = part.partition("-")
        yield algorithm, base64.b64decode(value.partition("?")[0] + "==").hex()


def _is_twin(name: str, names: set[str]) -> bool:
    """Whether declarations are there twice, for two systems of modules: the first form of three is read."""
    stem = next((name.removesuffix(ending) for ending in _TYPES if name.endswith(ending)), "")
    first = next((stem + ending for ending in _TYPES if stem + ending in names), name)
    return bool(stem) and first != name


def _description(manifest: bytes) -> Iterator[Item]:
    """The description and keywords of a package."""
    try:
        package: Any = json.loads(manifest)
        name, description = package.get("name"), package.get("description")
        keywords = package.get("keywords")
    except (ValueError, AttributeError, RecursionError):
        return
    words = [word for word in keywords if isinstance(word, str)] if isinstance(keywords, list) else []
    parts = [f"# {name}", str(description or ""), f"Keywords: {', '.join(words[:100])}" if words else ""]
    yield Item(_MANIFEST, "\n\n".join(part for part in parts if part).encode("utf-8", "replace"), ".md")
