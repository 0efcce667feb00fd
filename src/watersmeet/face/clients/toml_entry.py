"""Editing one table of a TOML file; comments and everything else stay as they are."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from watersmeet.face.clients.json_entry import CannotEdit

_HEADER = re.compile(r"^\s*\[")


def put(text: str, container: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with the table; other keys of an existing table are kept."""
    content = _read(text)
    block = [f"[{container}.{_key(name)}]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    if name not in (content.get(container) or {}):
        head = text if not text or text.endswith("\n") else text + "\n"
        new = head + ("\n" if head.strip() else "") + "\n".join(block) + "\n"
    else:
        have = content[container][name]
        if all(have.get(key) == value for key, value in entry.items()):
            return text
        lines = text.splitlines()
        start, end = _span(lines, container, name)
        kept = _other_lines(lines[start + 1 : end], set(entry))
        new = "\n".join([*lines[:start], lines[start], *block[1:], *kept, *lines[end:]]) + "\n"
    expected = dict((content.get(container) or {}).get(name, {})) | dict(entry)
    _check(text, new, container, name, expected)
    return new


def remove(text: str, container: str, name: str, keep_container: bool) -> str:
    """The text without the table and its sub-tables."""
    if name not in (_read(text).get(container) or {}):
        return text
    lines = text.splitlines()
    while True:
        try:
            start, end = _span(lines, container, name, below=True)
        except CannotEdit:
            break
        if end >= len(lines):
            while start and not lines[start - 1].strip():
                start -= 1
        elif not lines[end].strip():
            end += 1
        del lines[start:end]
    new = "\n".join(lines) + "\n" if lines else ""
    _check(text, new, container, name, None)
    return new


def entry_of(text: str, container: str, name: str) -> Any:
    return (_read(text).get(container) or {}).get(name)


def has(text: str, container: str) -> bool:
    """Whether there is such a table, even an empty one."""
    return container in _read(text)


def may_have(text: str, name: str) -> bool:
    """Whether the entry may be in a text that cannot be parsed."""
    return name in text


def is_empty(text: str) -> bool:
    return not text.strip()


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it is not TOML: {error}") from None


def _span(lines: list[str], container: str, name: str, below: bool = False) -> tuple[int, int]:
    """Line numbers from the table's header to the end of its last statement; later comments belong to what follows."""
    named = f"(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')"
    deeper = r"(?:\.[^\]]*)?" if below else ""
    header = re.compile(rf"^\s*\[\s*{container}\s*\.\s*{named}\s*{deeper}\]\s*(?:#.*)?$")
    start = next((number for number, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        raise CannotEdit(f"its table {container}.{name} is written in an unsupported way")
    end = next((n for n in range(start + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return start, end


def _other_lines(lines: list[str], keys: set[str]) -> list[str]:
    """The statements that set other keys, each with all its lines."""
    kept: list[str] = []
    statement: list[str] = []
    for line in lines:
        statement.append(line)
        try:
            parsed = tomllib.loads("\n".join(statement))
        except tomllib.TOMLDecodeError:
            continue
        if not parsed or set(parsed) - keys:
            kept += statement
        statement = []
    return kept + statement


def _check(old: str, new: str, container: str, name: str, expected: Any) -> None:
    """Check that nothing but the table has changed."""
    try:
        before, after = tomllib.loads(old), tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        raise CannotEdit(f"its table {container} is written in an unsupported way") from None
    found = after.get(container, {}).pop(name, None)
    before.get(container, {}).pop(name, None)
    for tables in (before, after):
        if not tables.get(container, True):
            del tables[container]
    if found != expected or before != after:
        raise CannotEdit(f"its table {container} is written in an unsupported way")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    return f"[{', '.join(_value(part) for part in value)}]"
