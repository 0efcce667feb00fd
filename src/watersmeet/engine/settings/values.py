"""A value from TOML or the environment against the type that a setting declares."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

from watersmeet.core.errors import ConfigError

SHOWN = 100
LARGEST = 1e8
"""Of what may be a fraction: a weight, a share, a number of seconds. What is computed with it stays finite."""
_CALLED = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def convert(hint: Any, value: Any, where: str) -> Any:
    """The value as the hint wants it, or an error that says what is expected."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return convert(next(arg for arg in get_args(hint) if arg is not type(None)), value, where)
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise _wrong(where, "a list", value)
        inner = get_args(hint)[0]
        items = [convert(inner, item, f"{where}[{i}]") for i, item in enumerate(value)]
        return tuple(items) if origin is tuple else items
    if origin in (dict, Mapping) or hint is dict:
        if not isinstance(value, dict):
            raise _wrong(where, "a table", value)
        inner = get_args(hint)[1] if get_args(hint) else Any
        return {key: convert(inner, item, f"{where}.{key}") for key, item in value.items()}
    if hint is Any:
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= LARGEST:  # nor is it NaN
            raise _wrong(where, f"a number of at most {LARGEST:,.0f}", value)
        return float(value)
    if hint is bool and type(value) is int and value in (0, 1):
        return value == 1
    if type(value) is not hint:
        raise _wrong(where, _CALLED.get(hint, str(hint)), value)
    return value


def _wrong(where: str, expected: str, value: Any) -> ConfigError:
    shown = repr(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
    return ConfigError(f"{where} must be {expected}, not {shown}", "see `watersmeet config show`")
