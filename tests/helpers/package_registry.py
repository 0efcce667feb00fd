"""A registry of packages on this machine: a package index and an npm registry, with archives made by the test."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from web import Site, answer, running

Files = Mapping[str, bytes]
METADATA = b"Metadata-Version: 2.1\nName: tern\nVersion: 1\nDescription-Content-Type: text/markdown\n\n"


def tar(
    files: Files, top: str = "tern-1.0/", compression: str = "gz", extra: list[tarfile.TarInfo] | None = None
) -> bytes:
    """A tar file; `extra` are members without content, such as links."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=f"w:{compression}", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra or ():
            archive.addfile(info)
    return made.getvalue()


def zipped(files: Files) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


@dataclass
class Registry:
    """The state of the registry; tests change it between two syncs."""

    site: Site
    archives: dict[str, bytes] = field(default_factory=dict)  # by file name
    python: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)  # file entries by package and file
    npm: dict[str, dict[str, Any]] = field(default_factory=dict)  # documents by package
    html: bool = False  # answers in the form of PEP 503
    conditional: bool = True
    status: int = 200  # of everything; else an outage
    file_host: str = ""  # where files are said to be

    @property
    def index(self) -> str:
        return f"{self.site.url}/simple"

    @property
    def npm_url(self) -> str:
        return f"{self.site.url}/npm/"

    @property
    def downloads(self) -> list[str]:
        return [path for path in self.site.paths if path.startswith("/files/")]

    def publish(self, package: str, filename: str, content: bytes, **entry: Any) -> None:
        """Publish a file of a Python package."""
        self.archives[filename] = content
        sha256 = hashlib.sha256(content).hexdigest()
        described = {"filename": filename, "url": f"{self.file_host}/files/{filename}", "hashes": {"sha256": sha256}}
        self.python.setdefault(package, {})[filename] = {**described, **entry}

    def publish_npm(self, package: str, version: str, content: bytes, **entry: Any) -> None:
        filename = f"{package.replace('/', '-')}-{version}.tgz"
        self.archives[filename] = content
        integrity = base64.b64encode(hashlib.sha512(content).digest()).decode()
        dist = {"tarball": f"{self.site.url}/files/{filename}", "integrity": f"sha512-{integrity}"}
        document = self.npm.setdefault(package, {"name": package, "versions": {}, "dist-tags": {}})
        document["versions"][version] = {"name": package, "version": version, "dist": dist, **entry}
        if "-" not in version and not entry.get("deprecated"):
            document["dist-tags"]["latest"] = version

    def respond(self, handler: Any) -> None:
        if self.status != 200:
            answer(b"away", self.status)(handler)
            return
        _, kind, *rest = handler.path.split("/")
        name = "/".join(rest).rstrip("/").replace("%2f", "/")
        if kind == "files" and name in self.archives:
            answer(self.archives[name])(handler)
        elif kind == "simple" and name in self.python:
            self._page(handler, *self._simple(name))
        elif kind == "npm" and name in self.npm:
            self._page(handler, json.dumps(self.npm[name]).encode(), "application/vnd.npm.install-v1+json")
        else:
            answer(b"no", 404)(handler)

    def _simple(self, name: str) -> tuple[bytes, str]:
        entries = self.python[name].values()
        if not self.html:
            return json.dumps({"files": list(entries)}).encode(), "application/vnd.pypi.simple.v1+json"
        links = []
        for one in entries:
            yanked = ' data-yanked=""' if one.get("yanked") else ""
            fragment = "".join(f"#{algorithm}={value}" for algorithm, value in one["hashes"].items())
            links.append(f'<a href="{one["url"]}{fragment}"{yanked}>{one["filename"]}</a>')
        return f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>".encode(), "text/html"

    def _page(self, handler: Any, body: bytes, media: str) -> None:
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if self.conditional and handler.headers.get("If-None-Match") == etag:
            answer(b"", 304, {"ETag": etag})(handler)
        else:
            answer(body, headers={"Content-Type": media, **({"ETag": etag} if self.conditional else {})})(handler)


@contextmanager
def registry() -> Iterator[Registry]:
    with running(Site()) as site:
        made = Registry(site)
        site.always = made.respond
        yield made
