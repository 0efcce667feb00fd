"""Registry records from a file, a folder or a list, as entities with their origin."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from watersmeet.core.entities import BUILT_IN, KINDS, Entity, Refused, Tool
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Found, Skipped, Source, SourceRoot
from watersmeet.core.record_format import Format, Origin
from watersmeet.engine import plugins
from watersmeet.engine.components import build
from watersmeet.engine.registry.types import check_types, declared_types
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.parsers import endings, parse_safely
from watersmeet.record.decode import decode

FORMATS = ("custom", "gateway", "official", "catalogue", "card", "skill", "beir", "toolset")
"""Record formats in the order in which they are tried; then those of plug-ins."""
LISTS = {"servers": KINDS[0], "agents": KINDS[1], "skills": KINDS[2], "virtual_servers": KINDS[3], "entities": ""}
"""Keys of lists that records may be wrapped in, with the default kind of their items."""
SKILL, CORPUS = "SKILL.md", "corpus.jsonl"
_ENDINGS = ("*.json", "*.jsonl", "*.yaml", "*.yml", SKILL)
_MAX_BYTES = 1_000_000_000
_MAX_DEPTH = 8
_NO_SERVER = "these tools name no server: name it (--server PATH), or register its record with them"
_HOW_TO_START = "it says how to start servers, not what they do; register the answer of each to tools/list"
_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n.*?^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of tools without a server: the server is named after the file, or after the folder of a tools.json.
    `more`: the list goes on in another page."""

    where: str
    name: str
    tools: tuple[Tool, ...]
    more: bool = False

    @property
    def path(self) -> str:
        return "/" + re.sub(r"[^\w.]+", "-", self.name.casefold()).strip("-.")

    def joined(self, other: Listed) -> Listed:
        """Both lists as one, without duplicates."""
        return replace(self, tools=_united(self.tools, other.tools), more=other.more)


Item = tuple[str, Entity] | Listed | Refused


def read(
    place: str | bytes | Iterable[Any], settings: Settings, kind: str = "", server: bool = False
) -> Iterator[Item]:
    """Read `place`: a file or a folder, the bytes of a file, or records. `kind`: of records that do not name theirs.

    Tools without a server are refused if there is no file name to use, unless the `server` is given."""
    types = declared_types(settings)
    check_types([kind] if kind else [], (*BUILT_IN, *types))
    if isinstance(place, str):
        yield from _place(place, settings, Origin(place, kind=kind, types=types))
        return
    if isinstance(place, bytes):
        found = recognized(decode(place, "-"), Origin("-", kind=kind, types=types))
    else:
        values = ((f"record {number}", value) for number, value in enumerate(place, 1))
        found = recognized(values, Origin("", kind=kind, types=types))
    for item in found:
        yield Refused(item.where, _NO_SERVER) if isinstance(item, Listed) and not server else item


def recognized(values: Iterable[tuple[str, Any] | Refused], origin: Origin) -> Iterator[Item]:
    """Entities of values by the first format that matches; tools without a server become one list."""
    formats: list[Format] = [build("record", name, {}) for name in (*FORMATS, *plugins.usable("record"))]
    loose: dict[str, Tool] = {}
    more = False
    for value in parse_safely(values, lambda reason: Refused(origin.where, reason)):
        more = not isinstance(value, Refused) and _has_next_page(value[1])
        found = [value] if isinstance(value, Refused) else _safely(value[1], replace(origin, where=value[0]), formats)
        for where, item in ((item.record, item) if isinstance(item, Refused) else item for item in found):
            if not isinstance(item, Tool):
                yield item if isinstance(item, Refused) else (where, item)
            elif loose.setdefault(item.name, item) is not item:
                yield Refused(where, f"a tool called {item.name!r} was read already")
    if loose:
        yield Listed(origin.where or "records", origin.name, tuple(loose.values()), more)


def _has_next_page(value: Any) -> bool:
    """Whether an answer to `tools/list` has another page."""
    last = value[-1] if isinstance(value, list) and value else value
    answer = last.get("result", last) if isinstance(last, Mapping) else None
    return isinstance(answer, Mapping) and bool(answer.get("nextCursor"))


def _safely(value: Any, origin: Origin, formats: list[Format]) -> Iterator[Refused | tuple[str, Entity | Tool]]:
    return parse_safely(_one(value, origin, formats), lambda reason: Refused(origin.where, reason))


def _one(
    value: Any, origin: Origin, formats: list[Format], depth: int = 0
) -> Iterator[Refused | tuple[str, Entity | Tool]]:
    if depth > _MAX_DEPTH:
        yield Refused(origin.where, f"lists are nested more than {_MAX_DEPTH} deep")
        return
    if origin.kind in origin.types and isinstance(value, Mapping) and LISTS.keys().isdisjoint(value):
        value = {"entity_type": origin.kind, **value}
    for format in formats:
        if format.knows(value):
            for item in format.read(value, origin):
                yield item if isinstance(item, Refused) else (origin.where, item)
            return
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from _one(item, replace(origin, where=f"{origin.where}, record {number}"), formats, depth + 1)
        return
    wrapped = [key for key in LISTS if isinstance(value.get(key), list)] if isinstance(value, Mapping) else []
    for key in wrapped:
        inner = replace(origin, kind=LISTS[key] or origin.kind, where=f"{origin.where}, {key}")
        yield from _one(value[key], inner, formats, depth + 1)
    if not wrapped:
        starts = isinstance(value, Mapping) and not {"mcpServers", "mcp_servers"}.isdisjoint(value)
        yield Refused(origin.where, _HOW_TO_START if starts else "not a record in a known format")


def _place(place: str, settings: Settings, defaults: Origin) -> Iterator[Item]:
    options = {**settings.of("source", "folder"), "include": list(_ENDINGS), "max_bytes": _MAX_BYTES}
    source: Source = build("source", "folder", options, endings=endings())
    if not os.path.exists(place):
        raise SourceProblem(f"{place} does not exist", "check the spelling of the path")
    found: list[Found] = []
    for item in source.scan(SourceRoot("folder", place), {}):
        if isinstance(item, Skipped):
            yield Refused(item.path, item.reason)
        elif isinstance(item, Found):
            found.append(item)
    skills = _skill_names(found)
    folders: dict[str, list[tuple[str, list[Item]]]] = {}
    for item in _record_files(found):
        content = source.read(item)
        if isinstance(content, Skipped):
            yield Refused(content.path, content.reason)
            continue
        name = skills.get(item.uri) or _name(item)
        origin = replace(defaults, where=item.uri, name=name, location=item.uri)
        is_skill = item.uri.casefold().endswith(".md")
        values = _skill(item, content, settings) if is_skill else decode(content, item.uri)
        folder, _, name = item.name.rpartition("/")
        folders.setdefault(folder, []).append((name, list(recognized(values, origin))))
    for files in folders.values():
        yield from _together(sorted(files, key=lambda file: _natural(file[0])))


def _together(files: list[tuple[str, list[Item]]]) -> Iterator[Item]:
    """Items of the files of a folder. A tools.json belongs to the server.json beside it; pages are joined."""
    merged: list[Item] = []
    owners = [n for n, (name, items) in enumerate(files) if _stem(name) == "server" and _is_server(items)]
    for name, items in files:
        if len(owners) == 1 and _stem(name) == "tools" and len(items) == 1 and isinstance(items[0], Listed):
            server = files[owners[0]][1]
            server[:] = [_with_list(item, items[0]) for item in server]
            items.clear()
    for _, items in files:
        for item in items:
            last = merged[-1] if merged else None
            if isinstance(item, Listed) and isinstance(last, Listed) and last.more:
                merged[-1] = replace(last.joined(item), name=_folder(item.where))
            else:
                merged.append(item)
    yield from merged


def _with_list(item: Item, listed: Listed) -> Item:
    if isinstance(item, Refused | Listed):
        return item
    return item[0], replace(item[1], tools=_united(listed.tools, item[1].tools))


def _is_server(items: list[Item]) -> bool:
    return len(items) == 1 and not isinstance(items[0], Refused | Listed) and items[0][1].kind == KINDS[0]


def _united(tools: tuple[Tool, ...], others: tuple[Tool, ...]) -> tuple[Tool, ...]:
    return tuple({tool.name: tool for tool in (*others, *tools)}.values())


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key in which page 10 comes after page 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name.casefold())]


def _stem(name: str) -> str:
    return name.casefold().rpartition(".")[0]


def _folder(path: str) -> str:
    return os.path.basename(os.path.dirname(os.path.realpath(path)))


def _skill_names(found: list[Found]) -> dict[str, str]:
    """Names of skills by their folder, with parent folders where needed to tell two skills apart. They do not depend on
    the folder that reading started in."""
    waiting = {item.uri: os.path.dirname(os.path.abspath(item.uri)).split(os.sep) for item in found}
    waiting = {path: parts for path, parts in waiting.items() if os.path.basename(path) == SKILL}
    names: dict[str, str] = {}
    depth = 1
    while waiting:
        candidates = {path: "/".join(parts[-depth:]) for path, parts in waiting.items()}
        count = Counter(name.casefold() for name in candidates.values())
        for path, name in candidates.items():
            if count[name.casefold()] == 1 or depth >= len(waiting[path]):
                names[path] = name
                del waiting[path]
        depth += 1
    return names


def _record_files(found: list[Found]) -> list[Found]:
    """Files that may hold records: not other files of a skill, nor those beside a corpus."""
    files = {item.name for item in found}

    def is_record(name: str) -> bool:
        folder, _, last = name.rpartition("/")
        inside = f"{folder}/" if folder else ""
        if last != SKILL and inside + CORPUS in files:
            return last == CORPUS
        outer = f"{inside}x"
        while "/" in outer:
            outer = outer.rpartition("/")[0]
            if f"{outer}/{SKILL}" in files:
                return last == SKILL
        return last == SKILL or SKILL not in files

    return [item for item in found if is_record(item.name)]


def _name(item: Found) -> str:
    """The default name of records of a file: its folder for a corpus or tools.json, else the file name."""
    folder, _, name = item.name.rpartition("/")
    if name == CORPUS:
        return folder or _folder(item.uri)
    if _stem(name) == "tools":
        return _folder(item.uri)
    return name.rpartition(".")[0]


def _skill(item: Found, content: bytes, settings: Settings) -> Iterator[tuple[str, Any] | Refused]:
    parsed = next(iter(build("parse", "markdown", settings.of("parse", "markdown")).parse(item, content)))
    if isinstance(parsed, Skipped):
        yield Refused(parsed.path, parsed.reason)
    elif not parsed.fields:
        yield Refused(item.uri, "; ".join(parsed.warnings) or "no front matter")
    else:
        text = content.decode("utf8", "replace").lstrip("\ufeff").replace("\r\n", "\n")
        yield item.uri, {"front_matter": dict(parsed.fields), "body": _MATTER.sub("", text, count=1).strip()}
