"""Declaration of settings: a component declares each once, and every surface is generated from that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from watersmeet.core.errors import ConfigError

REQUIRED: Any = object()
"""Default of a required option."""


def option(
    default: Any,
    meaning: str,
    outside: bool = False,
    *,
    least: float | None = None,
    most: float | None = None,
    longest: int | None = None,
    choices: Callable[[], Sequence[str]] | None = None,
    aliases: tuple[str, ...] = (),
    metavar: str = "",
    flags: tuple[str, ...] = (),
    example: str = "",
    brief: str = "",
) -> Any:
    """A dataclass field that is a setting or a parameter; `meaning` is its description on every surface.

    `outside`: it names a path, an address, a model or a variable, so a folder's file may set it only if it is trusted.
    For parameters: minimum and maximum of a number, maximum length of a text, choices, aliases, and on the command line
    the name of the value and further flags; an example value; and `brief`, the meaning in a few words, where each word
    is paid for: agents read the list of tools again and again.
    """
    described = {
        "meaning": meaning,
        "outside": outside,
        "least": least,
        "most": most,
        "longest": longest,
        "choices": choices,
        "aliases": aliases,
        "metavar": metavar,
        "flags": flags,
        "example": example,
        "brief": brief,
    }
    if default is REQUIRED:
        return field(metadata=described)
    if isinstance(default, dict | list):
        value = default
        make: Callable[[], Any] = value.copy
        return field(default_factory=make, metadata=described)
    return field(default=default, metadata=described)


def secret_key() -> Any:
    """The setting of a key: never shown, and from the environment if it is not set."""
    return field(default="", repr=False, metadata={"meaning": "the key itself", "secret": True, "outside": True})


def check_weights(where: str, weights: Mapping[str, float]) -> None:
    """Raise `ConfigError` unless all weights are finite and not negative."""
    for name, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise ConfigError(f"{where}.{name} cannot be {weight}", "give a number of 0 or more")
