"""What the suites of an index have in common: one that is filled for a whole class, and an empty one for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from watersmeet.core.index import Snapshot
from watersmeet.testing.contracts.corpus import Filling, filled


class FilledContract:
    """Subclass a suite and say how an index is made: pytest runs the rest."""

    @classmethod
    def made(cls, folder: Path) -> AbstractContextManager[Filling]:
        """A new, empty index, to be filled; `folder` is there for its files, if it has any."""
        raise NotImplementedError("a contract suite needs `made`: a new, empty index")

    @pytest.fixture
    def filling(self, tmp_path: Path) -> Iterator[Filling]:
        with self.made(tmp_path) as filling:
            yield filling

    @pytest.fixture(scope="class")
    @classmethod
    def harbour(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filling]:
        """With all of `corpus.HARBOUR` in it; nobody changes it."""
        with cls.made(tmp_path_factory.mktemp("harbour")) as filling:
            yield filled(filling)

    @pytest.fixture
    def snapshot(self, harbour: Filling) -> Iterator[Snapshot]:
        with harbour.index.snapshot() as snapshot:
            yield snapshot
