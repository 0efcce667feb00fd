"""How a component declares a setting: once, with its meaning; every surface is generated from that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from watersmeet.core.errors import ConfigError


def option(default: Any, meaning: str) -> Any:
    """A dataclass field that is a setting: it may stand in TOML and is described in the reference."""
    if isinstance(default, dict | list):
        value = default
        make: Callable[[], Any] = value.copy
        return field(default_factory=make, metadata={"meaning": meaning})
    return field(default=default, metadata={"meaning": meaning})


def check_weights(where: str, weights: Mapping[str, float]) -> None:
    """Weights are finite and not below 0."""
    for name, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise ConfigError(f"{where}.{name} cannot be {weight}", "a weight is a number from 0 on")
