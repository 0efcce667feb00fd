"""Editing one entry of an object in a JSON file; every other character stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")


class CannotEdit(Exception):
    """A file that cannot be changed without risk to the rest of it; the message says why."""


class Member(NamedTuple):
    key: str
    start: int
    value: int
    end: int


def put(text: str, container: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with the entry; other keys of an existing entry are kept."""
    if not text.strip():
        return json.dumps({container: {name: dict(entry)}}, indent=2, ensure_ascii=False) + "\n"
    content = _read(text, container)
    step = _step(text)
    servers = content.get(container)
    if servers is None:
        return _added(text, _top(text), container, {name: dict(entry)}, step, 1)
    if name in servers:
        merged = servers[name] | dict(entry) if isinstance(servers[name], dict) else dict(entry)
        if merged == servers[name]:
            return text
        member = _member(text, container, name)
        return text[: member.value] + _dumped(merged, step, 2) + text[member.end :]
    return _added(text, _member(text, container).value, name, dict(entry), step, 2)


def remove(text: str, container: str, name: str, keep_container: bool) -> str:
    """The text without the entry, and without the container if that is empty then."""
    content = _read(text, container) if text.strip() else {}
    if name not in (content.get(container) or {}):
        return text
    if len(content[container]) == 1 and not keep_container:
        return _removed(text, _top(text), container)
    return _removed(text, _member(text, container).value, name)


def entry_of(text: str, container: str, name: str) -> Any:
    return (_read(text, container).get(container) or {}).get(name) if text.strip() else None


def has(text: str, container: str) -> bool:
    """Whether there is such a container, even an empty one."""
    return bool(text.strip()) and container in _read(text, container)


def may_have(text: str, name: str) -> bool:
    """Whether the entry may be in a text that cannot be parsed."""
    return json.dumps(name) in text


def is_empty(text: str) -> bool:
    return not text.strip() or json.loads(text) == {}


def _read(text: str, container: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except JSONDecodeError as error:
        about = "it has comments or commas that JSON does not have" if _like_jsonc(text) else str(error)
        raise CannotEdit(f"it is not plain JSON: {about}") from None
    if not isinstance(content, dict) or not isinstance(content.get(container, {}), dict):
        raise CannotEdit(f"it does not hold an object {container!r}")
    if len({member.key for member in _members(text, _top(text))}) != len(_members(text, _top(text))):
        raise CannotEdit("it has the same key twice")
    return content


def _like_jsonc(text: str) -> bool:
    return bool(re.search(r"//|/\*|,\s*[}\]]", text))


def _top(text: str) -> int:
    return _skip(text, 0)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(text: str, brace: int) -> list[Member]:
    """The members of the object that opens at `brace`; the text is valid JSON."""
    found: list[Member] = []
    read = json.JSONDecoder().raw_decode
    at = _skip(text, brace + 1)
    while text[at] != "}":
        start = at
        key, at = read(text, at)
        value = _skip(text, _skip(text, at) + 1)
        _, end = read(text, value)
        found.append(Member(key, start, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _member(text: str, *path: str) -> Member:
    brace = _top(text)
    for key in path:
        member = next(member for member in _members(text, brace) if member.key == key)
        brace = member.value
    return member


def _step(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else ("  " if "\n" in text.strip() or not _members(text, _top(text)) else "")


def _dumped(value: Any, step: str, depth: int) -> str:
    if not step:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{step * depth}")


def _added(text: str, brace: int, key: str, value: Any, step: str, depth: int) -> str:
    member = f"{json.dumps(key)}: {_dumped(value, step, depth)}"
    members = _members(text, brace)
    between = f"\n{step * depth}" if step else " "
    if members:
        end = members[-1].end
        return f"{text[:end]},{between}{member}{text[end:]}"
    closing = text.index("}", brace)
    after = f"\n{step * (depth - 1)}" if step else ""
    return f"{text[: brace + 1]}{between if step else ''}{member}{after}{text[closing:]}"


def _removed(text: str, brace: int, key: str) -> str:
    members = _members(text, brace)
    at = next(number for number, member in enumerate(members) if member.key == key)
    if len(members) == 1:
        return text[: brace + 1] + text[_skip(text, members[0].end) :]
    if at:
        return text[: members[at - 1].end] + text[members[at].end :]
    return text[: members[0].start] + text[members[1].start :]
