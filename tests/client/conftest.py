"""A real server over a small index, which may be written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Served, served
from watersmeet import Engine


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    engine.sync([vault])
    with served(engine, allow_write=True) as made:
        yield made
