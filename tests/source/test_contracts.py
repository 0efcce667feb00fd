"""The contract of a source, passed by ours."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from repositories import TestRepository, git
from watersmeet.core.indexing import Source, SourceRoot
from watersmeet.source.folder import Folder
from watersmeet.source.git import Git
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
