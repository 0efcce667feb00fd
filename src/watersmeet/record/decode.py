"""Decoding of record files: JSON, JSON lines or YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from watersmeet.common.safe_yaml import NotYaml, read_yaml
from watersmeet.core.entities import Refused
from watersmeet.core.limits import LimitExceeded

YAML = (".yaml", ".yml")
LINES = ".jsonl"


def decode(content: bytes, where: str) -> Iterator[tuple[str, Any] | Refused]:
    """Values with their positions. The file ending decides the format; otherwise JSON, JSON lines or YAML."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        yield Refused(where, f"not UTF-8 (byte {problem.start})")
        return
    name = where.casefold()
    if name.endswith(YAML):
        yield _yaml(text, where)
    elif name.endswith(LINES):
        yield from _lines(text, where)
    else:
        yield from _json(text, where)


def _json(text: str, where: str) -> Iterator[tuple[str, Any] | Refused]:
    try:
        yield where, json.loads(text)
        return
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} (line {error.lineno})"
        many = error.lineno > 1 and error.msg == "Extra data"
    except (ValueError, RecursionError) as error:
        problem, many = f"not JSON: {error}", False
    if many:
        yield from _lines(text, where)
    elif text.lstrip().startswith(("{", "[")) or where.casefold().endswith(".json"):
        yield Refused(where, problem)
    else:
        yield _yaml(text, where)


def _lines(text: str, where: str) -> Iterator[tuple[str, Any] | Refused]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield f"{where}:{number}", json.loads(line)
        except json.JSONDecodeError as error:
            yield Refused(f"{where}:{number}", f"not JSON: {error.msg} (column {error.colno})")
        except (ValueError, RecursionError) as error:
            yield Refused(f"{where}:{number}", f"not JSON: {error}")


def _yaml(text: str, where: str) -> tuple[str, Any] | Refused:
    try:
        return where, read_yaml(text)
    except LimitExceeded as problem:
        return Refused(where, f"it {problem}")
    except NotYaml as problem:
        return Refused(where, f"not YAML: {problem}" + (f" (line {problem.line})" if problem.line else ""))
