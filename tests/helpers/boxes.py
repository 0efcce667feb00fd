"""Fixtures of the source in memory (`sources/made.py`), as if it lay beside `folder`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import watersmeet.source

BOX = "made:box"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the source, with a box of two pages."""
    place = str(Path(__file__).parent / "sources")
    monkeypatch.setattr(watersmeet.source, "__path__", [*watersmeet.source.__path__, place])
    module = importlib.import_module("watersmeet.source.made")
    module.BOXES[BOX] = module.Box({"a": "# A\n\nabout a quagga\n", "b": "# B\n\nabout a heron\n"})
    yield module
    del sys.modules["watersmeet.source.made"], watersmeet.source.made  # type: ignore[attr-defined]


@pytest.fixture
def box(made: Any) -> Any:
    return made.BOXES[BOX]
