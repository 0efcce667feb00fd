"""Editing one entry of an object in a JSON file; every other character stays as it is, comments included.

Positions come from a copy of the text in which comments and trailing commas are blanks: it is plain JSON, and as long
as the text itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from json import JSONDecodeError
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|(?:/\*[^\n]*?\*/[ \t]*)+(?=\n|$))?")


class CannotEdit(Exception):
    """A file that cannot be changed without risk to the rest of it; the message says why."""


class Member(NamedTuple):
    key: str
    start: int
    value: int
    end: int


def put(text: str, container: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with the entry; other keys of an existing entry are kept. `container`: the keys that lead to the object,
    with dots between them."""
    new = _put(text, container.split("."), name, entry)
    _check(text, new, container.split("."), name)
    return new


def _put(text: str, path: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    if not text.strip():
        return json.dumps(_nested(path, {name: dict(entry)}), indent=2, ensure_ascii=False) + "\n"
    content = _read(text, path)
    step = _step(text)
    for depth, key in enumerate(path):
        if key not in content:
            value = _nested(path[depth + 1 :], {name: dict(entry)})
            return _added(text, _brace(text, path[:depth]), key, value, step, depth + 1)
        content = content[key]
    if name in content:
        merged = content[name] | dict(entry) if isinstance(content[name], dict) else dict(entry)
        if merged == content[name]:
            return text
        member = _member(text, *path, name)
        return text[: member.value] + _dumped(merged, step, len(path) + 1) + text[member.end :]
    return _added(text, _brace(text, path), name, dict(entry), step, len(path) + 1)


def remove(text: str, container: str, name: str, keep_container: bool) -> str:
    """The text without the entry, and without the container if that is empty then."""
    path = container.split(".")
    found = _object(_read(text, path), path) if text.strip() else None
    if name not in (found or {}):
        return text
    whole = len(found or {}) == 1 and not keep_container
    new = _removed(text, _brace(text, path[:-1] if whole else path), path[-1] if whole else name)
    _check(text, new, path, name)
    return new


def _check(old: str, new: str, path: Sequence[str], name: str) -> None:
    """Check that nothing but the entry has changed."""
    both = [json.loads(plain(text)) if text.strip() else {} for text in (old, new)]
    for content in both:
        (_object(content, path) or {}).pop(name, None)
        for depth in range(len(path), 0, -1):
            if _object(content, path[:depth]) == {}:
                del (_object(content, path[: depth - 1]) or {})[path[depth - 1]]
    if both[0] != both[1]:
        raise CannotEdit("it is written in an unsupported way")


def entry_of(text: str, container: str, name: str) -> Any:
    path = container.split(".")
    return (_object(_read(text, path), path) or {}).get(name) if text.strip() else None


def has(text: str, container: str) -> bool:
    """Whether there is such a container, even an empty one."""
    path = container.split(".")
    return bool(text.strip()) and _object(_read(text, path), path) is not None


def may_have(text: str, name: str) -> bool:
    """Whether the entry may be in a text that cannot be parsed."""
    return json.dumps(name) in text


def is_empty(text: str) -> bool:
    return not text.strip() or (not has_comments(text) and json.loads(text) == {})


def has_comments(text: str) -> bool:
    """Whether it has comments or trailing commas, which only some programs understand."""
    return plain(text) != text


def plain(text: str) -> str:
    """The text with blanks in place of comments and trailing commas."""
    return _TRAILING.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])


def _read(text: str, path: Sequence[str]) -> dict[str, Any]:
    try:
        content = json.loads(plain(text))
    except JSONDecodeError as error:
        raise CannotEdit(f"it is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise CannotEdit("it does not hold an object")
    found: Any = content
    for depth in range(len(path) + 1):
        keys = [member.key for member in _members(plain(text), _brace(text, path[:depth]))]
        if len(set(keys)) != len(keys):
            raise CannotEdit("it has the same key twice")
        if depth == len(path) or path[depth] not in found:
            break
        found = found[path[depth]]
        if not isinstance(found, dict):
            raise CannotEdit(f"it does not hold an object {'.'.join(path[: depth + 1])!r}")
    return content


def _object(content: dict[str, Any], path: Sequence[str]) -> dict[str, Any] | None:
    """The object that these keys lead to."""
    found: dict[str, Any] | None = content
    for key in path:
        found = found.get(key) if found is not None else None
    return found


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(json_text: str, brace: int) -> list[Member]:
    """The members of the object that opens at `brace`; the text is plain JSON."""
    found: list[Member] = []
    read = json.JSONDecoder().raw_decode
    at = _skip(json_text, brace + 1)
    while json_text[at] != "}":
        start = at
        key, at = read(json_text, at)
        value = _skip(json_text, _skip(json_text, at) + 1)
        _, end = read(json_text, value)
        found.append(Member(key, start, value, end))
        at = _skip(json_text, end)
        if json_text[at] == ",":
            at = _skip(json_text, at + 1)
    return found


def _member(text: str, *path: str) -> Member:
    json_text = plain(text)
    brace = _skip(json_text, 0)
    for key in path:
        member = next(member for member in _members(json_text, brace) if member.key == key)
        brace = member.value
    return member


def _brace(text: str, path: Sequence[str]) -> int:
    """Where the object opens that these keys lead to."""
    return _member(text, *path).value if path else _skip(plain(text), 0)


def _step(text: str) -> str:
    found = _INDENT.search(plain(text))
    return found[1] if found else ("  " if "\n" in text.strip() or not _members(plain(text), _brace(text, ())) else "")


def _dumped(value: Any, step: str, depth: int) -> str:
    if not step:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{step * depth}")


def _comma(text: str, end: int) -> int:
    """Where the comma after a value is; -1 if there is none."""
    text = _COMMENT.sub(_blank, text)
    at = _skip(text, end)
    return at if text[at : at + 1] == "," else -1


def _line_end(text: str, at: int) -> int:
    """The end of what belongs to a member on its line: a comment behind it."""
    found = _REST_OF_LINE.match(text, at)
    return found.end() if found and found[0].strip() else at


def _added(text: str, brace: int, key: str, value: Any, step: str, depth: int) -> str:
    member = f"{json.dumps(key)}: {_dumped(value, step, depth)}"
    members = _members(plain(text), brace)
    between = f"\n{step * depth}" if step else " "
    if members:
        end = members[-1].end
        comma = _comma(text, end)
        if comma >= 0:  # a trailing one: the new member gets one too
            after = _line_end(text, comma + 1)
            return f"{text[:after]}{between}{member},{text[after:]}"
        after = _line_end(text, end)
        return f"{text[:end]},{text[end:after]}{between}{member}{text[after:]}"
    closing = plain(text).index("}", brace)
    after_brace = f"\n{step * (depth - 1)}" if step else ""
    inner = text[brace + 1 : closing].rstrip()  # comments
    return f"{text[: brace + 1]}{inner}{between if step else ''}{member}{after_brace}{text[closing:]}"


def _removed(text: str, brace: int, key: str) -> str:
    members = _members(plain(text), brace)
    at = next(number for number, member in enumerate(members) if member.key == key)
    own, comma = members[at], _comma(text, members[at].end)
    end = _line_end(text, comma + 1 if comma >= 0 else own.end)
    if at:
        before = members[at - 1]
        former = _comma(text, before.end)
        start = _line_end(text, former + 1)
        if comma < 0:  # it was the last one: the comma before it goes as well
            return text[:former] + text[former + 1 : start] + text[end:]
        return text[:start] + text[end:]
    if len(members) == 1:
        inner = text[brace + 1 : own.start].rstrip()
        return text[: brace + 1] + inner + text[end if inner else _skip(text, end) :]
    return text[: own.start] + text[_skip(text, end) :]
