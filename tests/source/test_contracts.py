"""The contract of a source, passed by ours."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pages import Answer, Website, sitemap, website
from repositories import TestRepository, git
from watersmeet.core.indexing import Source, SourceRoot
from watersmeet.source.folder import Folder
from watersmeet.source.git import Git
from watersmeet.source.site import Site
from watersmeet.testing.contracts.source import Place, SourceContract


@dataclass
class InFolder:
    folder: Path
    written: int = 0

    @property
    def root(self) -> SourceRoot:
        return SourceRoot("folder", str(self.folder))

    @property
    def missing(self) -> SourceRoot:
        return SourceRoot("folder", str(self.folder / "missing"))

    def write(self, name: str, content: bytes) -> None:
        self.written += 1
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_700_000_000 + self.written, 1_700_000_000 + self.written))

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()


class TestFolder(SourceContract):
    @pytest.fixture
    def source(self) -> Source:
        return Folder((".md", ".txt"))

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        folder = tmp_path / "place"
        folder.mkdir()
        return InFolder(folder)


@dataclass
class OnWebsite:
    """A website with a sitemap."""

    site: Website

    @property
    def root(self) -> SourceRoot:
        return SourceRoot("site", f"{self.site.url}/docs/")

    @property
    def missing(self) -> SourceRoot:
        """A port that nobody listens on."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return SourceRoot("site", f"http://127.0.0.1:{free.getsockname()[1]}/docs/")

    def write(self, name: str, content: bytes) -> None:
        self.site.pages[f"/docs/{name}"] = Answer(content, type="text/markdown")
        self.list()

    def remove(self, name: str) -> None:
        del self.site.pages[f"/docs/{name}"]
        self.list()

    def list(self) -> None:
        paths = dict.fromkeys((path for path in self.site.pages if path.endswith(".md")), "")
        self.site.pages["/docs/sitemap.xml"] = sitemap(self.site.url, paths)


class TestSite(SourceContract):
    @pytest.fixture
    def website(self) -> Iterator[Website]:
        with website() as site:
            yield site

    @pytest.fixture
    def source(self, website: Website) -> Source:
        return Site(allowed=["127.0.0.1", website.host], rate=0, misses=1)

    @pytest.fixture
    def place(self, website: Website) -> Place:
        place = OnWebsite(website)
        place.list()
        return place


@dataclass
class InRepository:
    """A repository with one commit, which each change replaces: what is removed is gone for good."""

    repository: TestRepository

    @property
    def root(self) -> SourceRoot:
        return SourceRoot("git", f"git+{self.repository.folder}")

    @property
    def missing(self) -> SourceRoot:
        return SourceRoot("git", f"git+{self.repository.folder}-missing")

    def write(self, name: str, content: bytes) -> None:
        self.repository.write(name, content)
        self._replace_commit()

    def remove(self, name: str) -> None:
        (self.repository.folder / name).unlink()
        self._replace_commit()

    def _replace_commit(self) -> None:
        folder = self.repository.folder
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--amend", "--allow-empty", "-m", "all")
        git(folder, "reflog", "expire", "--expire=now", "--all")
        git(folder, "prune", "--expire=now")


class TestGit(SourceContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        return Git((".md", ".txt"), cache=str(tmp_path / "cache"))

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        repository = TestRepository.new(tmp_path / "place")
        repository.commit("empty")
        return InRepository(repository)
