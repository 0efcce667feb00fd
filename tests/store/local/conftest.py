"""An index in a folder: one that all read and none changes, and new ones to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine_filling import EngineFilling
from watersmeet.engine.settings.settings import load
from watersmeet.testing.contracts.corpus import Given, filled


def opened(folder: Path) -> EngineFilling:
    settings = load(start=str(folder), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    return EngineFilling(str(folder / "index"), settings)


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineFilling]:
    """Filled with `HARBOUR`; nobody writes to it."""
    made = opened(tmp_path_factory.mktemp("harbour"))
    filled(made)
    yield made
    made.index.close()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Callable[..., EngineFilling]]:
    """A new index with some documents in it."""
    with ExitStack() as stack:

        def build(*given: Given) -> EngineFilling:
            made = opened(tmp_path)
            stack.callback(made.index.close)
            if given:
                made.put(given)
            return made

        yield build
