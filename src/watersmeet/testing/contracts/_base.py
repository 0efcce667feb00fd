"""Fixtures of the index suites: a filled index for a whole class, and an empty one for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from watersmeet.core.index import Snapshot
from watersmeet.testing.contracts.corpus import Filling, filled


class FilledContract:
    """Base of the index suites. Subclasses implement `made`; pytest runs the rest."""

    @classmethod
    def made(cls, folder: Path) -> AbstractContextManager[Filling]:
        """A new, empty index; `folder` is for its files, if it has any."""
        raise NotImplementedError("a contract suite needs `made`: a new, empty index")

    @pytest.fixture
    def filling(self, tmp_path: Path) -> Iterator[Filling]:
        with self.made(tmp_path) as filling:
            yield filling

    @pytest.fixture(scope="class")
    @classmethod
    def harbour(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filling]:
        """An index with all of `corpus.HARBOUR`; tests must not change it."""
        with cls.made(tmp_path_factory.mktemp("harbour")) as filling:
            yield filled(filling)

    @pytest.fixture
    def snapshot(self, harbour: Filling) -> Iterator[Snapshot]:
        with harbour.index.snapshot() as snapshot:
            yield snapshot
