"""Settings as TOML text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def dump(tables: Mapping[str, Any]) -> str:
    """Tables as TOML: values first, then a section for each table and for each of its tables."""
    return "\n".join(_lines(tables, ())).strip() + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    values = {key: value for key, value in table.items() if not _is_section(value, path)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    if path and lines:
        lines = ["", f"[{'.'.join(map(_key, path))}]", *lines]
    for key, value in table.items():
        if key not in values:
            lines += _lines(value, (*path, key))
    return lines


def _is_section(value: object, path: tuple[str, ...]) -> bool:
    """Whether a value gets a section of its own: tables of kinds and components do, tables inside of them do not."""
    return isinstance(value, Mapping) and len(path) < 2


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return (
            ("nan" if math.isnan(value) else "inf" if value > 0 else "-inf")
            if not math.isfinite(value)
            else repr(value)
        )
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }" if value else "{}"
        )
    raise TypeError(f"TOML has no {type(value).__name__}")


def _text(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
