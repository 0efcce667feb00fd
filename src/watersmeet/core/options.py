"""How a component declares a setting: once, with its meaning; every surface is generated from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any


def option(default: Any, meaning: str) -> Any:
    """A dataclass field that is a setting: it may stand in TOML and is described in the reference."""
    if isinstance(default, dict | list):
        value = default
        make: Callable[[], Any] = value.copy
        return field(default_factory=make, metadata={"meaning": meaning})
    return field(default=default, metadata={"meaning": meaning})
