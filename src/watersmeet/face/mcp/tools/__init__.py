"""The tools: what an agent is told of each, what it takes, what it gives back.

Every file of this folder holds some, under `TOOLS` by their names. Adding a tool is adding a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from threading import Event
from typing import Annotated, Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, Field

from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller

Id = Annotated[str, Field(min_length=1, max_length=1000)]
FIRST = ("search", "get", "related", "find_tools")
"""The order in which tools are listed begins with these; agents read the first ones most."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who calls, whether that is this machine's user, and how to tell of progress."""

    service: Service
    caller: Caller
    local: bool
    stop: Event
    progress: ProgressCallback


@dataclass(frozen=True, slots=True)
class Made:
    """A tool; `work` gives the structured answer and, if it reads better, the same as text."""

    takes: type[BaseModel]
    gives: type[BaseModel]
    title: str
    about: str
    work: Callable[[Call, Any], tuple[dict[str, Any], str]]
    writes: bool = False


def plain(found: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    return dict(found), json.dumps(found, ensure_ascii=False)


@cache
def tools() -> Mapping[str, Made]:
    """All that the files of this folder hold, by name."""
    found: dict[str, Made] = {}
    for module in iter_modules(__path__):
        found |= import_module(f"{__name__}.{module.name}").TOOLS
    first = {name: found.pop(name) for name in FIRST}
    return {**first, **found}


@cache
def described(name: str) -> Tool:
    made = tools()[name]
    hints = ToolAnnotations(
        title=made.title,
        read_only_hint=not made.writes,
        destructive_hint=False if not made.writes else None,
        idempotent_hint=True,
        open_world_hint=False,
    )
    return Tool(
        name=name,
        title=made.title,
        description=made.about,
        input_schema=made.takes.model_json_schema(),
        output_schema=made.gives.model_json_schema(),
        annotations=hints,
    )
