"""What the tests of the folder source share besides trees of files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that everybody may enter; pytest's own may not be."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o777)
    yield place
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o777)
    shutil.rmtree(place)
