"""From a file, a folder or a list of records to entities, each with where it was read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from watersmeet.core.entities import KINDS, Entity, Refused, Tool
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.records import Format, Origin
from watersmeet.engine.components import build
from watersmeet.engine.roots import parsers
from watersmeet.engine.settings import Settings
from watersmeet.record.written import written

FORMATS = ("gateway", "official", "catalogue", "card", "skill", "beir", "toolset")
"""Who is asked whether it knows a record, in this order."""
LISTS = {"servers": KINDS[0], "agents": KINDS[1], "skills": KINDS[2], "virtual_servers": KINDS[3], "entities": ""}
"""Lists that a record may be wrapped in, and what their items are if they do not say."""
SKILL, CORPUS = "SKILL.md", "corpus.jsonl"
_ENDINGS = ("*.json", "*.jsonl", "*.yaml", "*.yml", SKILL)
_LARGEST = 1_000_000_000
_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n.*?^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Listed:
    """Tools of which their file does not say whose they are: those of a server that is named after it."""

    where: str
    name: str
    tools: tuple[Tool, ...]


Item = tuple[str, Entity] | Listed | Refused


def read(place: str | bytes | Iterable[Any], settings: Settings, kind: str = "") -> Iterator[Item]:
    """`place`: a file or a folder, the bytes of a file, or records; `kind` is that of records that do not say."""
    if isinstance(place, str):
        yield from _place(place, settings, kind)
    elif isinstance(place, bytes):
        yield from understood(written(place, "-"), Origin("-", "stdin", kind))
    else:
        values = ((f"record {number}", value) for number, value in enumerate(place, 1))
        yield from understood(values, Origin("", "records", kind))


def understood(values: Iterable[tuple[str, Any] | Refused], origin: Origin) -> Iterator[Item]:
    """What each value says; tools of nobody are put together."""
    formats: list[Format] = [build("record", name, {}) for name in FORMATS]
    loose: dict[str, Tool] = {}
    for value in values:
        found = [value] if isinstance(value, Refused) else _one(value[1], replace(origin, where=value[0]), formats)
        for where, item in ((item.record, item) if isinstance(item, Refused) else item for item in found):
            if not isinstance(item, Tool):
                yield item if isinstance(item, Refused) else (where, item)
            elif loose.setdefault(item.name, item) is not item:
                yield Refused(where, f"a tool called {item.name!r} was read before")
    if loose:
        yield Listed(origin.where or origin.name, origin.name, tuple(loose.values()))


def _one(value: Any, origin: Origin, formats: list[Format]) -> Iterator[Refused | tuple[str, Entity | Tool]]:
    for format in formats:
        if format.knows(value):
            for item in format.read(value, origin):
                yield item if isinstance(item, Refused) else (origin.where, item)
            return
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from _one(item, replace(origin, where=f"{origin.where}, record {number}"), formats)
        return
    wrapped = [key for key in LISTS if isinstance(value.get(key), list)] if isinstance(value, Mapping) else []
    for key in wrapped:
        inner = replace(origin, kind=LISTS[key] or origin.kind, where=f"{origin.where}, {key}")
        yield from _one(value[key], inner, formats)
    if not wrapped:
        yield Refused(origin.where, "not a record of a known form")


def _place(place: str, settings: Settings, kind: str) -> Iterator[Item]:
    options = {**settings.of("source", "folder"), "include": list(_ENDINGS), "max_bytes": _LARGEST}
    source = build("source", "folder", options)
    if not os.path.exists(place):
        raise SourceProblem(f"{place} does not exist", "check the spelling of the path")
    found = []
    for item in source.scan(place):
        if isinstance(item, Skipped):
            yield Refused(item.path, item.reason)
        else:
            found.append(item)
    for item in _telling(found):
        content = source.read(item)
        if isinstance(content, Skipped):
            yield Refused(content.path, content.reason)
            continue
        origin = Origin(item.path, _name(item), kind, item.path)
        if item.path.casefold().endswith(".md"):
            yield from understood([_skill(item, content, settings)], origin)
        else:
            yield from understood(written(content, item.path), origin)


def _telling(found: list[Found]) -> list[Found]:
    """Not what belongs to a skill, nor what else lies beside a corpus."""
    files = {item.name for item in found}

    def tells(name: str) -> bool:
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

    return [item for item in found if tells(item.name)]


def _name(item: Found) -> str:
    """What a record of this file is called if it does not say: after its folder if that holds nothing else."""
    folder, _, name = item.name.rpartition("/")
    if name.casefold().endswith(".md") or name == CORPUS:
        return folder or os.path.basename(os.path.dirname(os.path.realpath(item.path)))
    return name.rpartition(".")[0]


def _skill(item: Found, content: bytes, settings: Settings) -> tuple[str, Any] | Refused:
    parsed = next(iter(parsers(settings)["md"].parse(item, content)))
    if isinstance(parsed, Skipped):
        return Refused(parsed.path, parsed.reason)
    if not parsed.fields:
        return Refused(item.path, "; ".join(parsed.warnings) or "no front matter")
    text = content.decode("utf8", "replace").lstrip("\ufeff").replace("\r\n", "\n")
    return item.path, {"front_matter": dict(parsed.fields), "body": _MATTER.sub("", text, count=1).strip()}
