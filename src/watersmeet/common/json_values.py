"""Values of an untrusted JSON document: the type that is needed, or an empty one."""

from __future__ import annotations

from typing import Any


def text_of(value: Any) -> str:
    """A text; empty if it is something else."""
    return value if isinstance(value, str) else ""


def first_of(value: Any) -> dict[str, Any]:
    """The first object of a list; empty if there is none."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def object_of(value: Any) -> dict[str, Any]:
    """An object; empty if it is something else."""
    return value if isinstance(value, dict) else {}
