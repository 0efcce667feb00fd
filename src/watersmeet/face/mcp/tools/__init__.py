"""MCP tools: the description, input and output of each.

Every file of this folder declares some in `TOOLS`, by name. To add a tool, add a file.
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
from pydantic import Field

from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.face.schema import Body, brief_schema
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller

Id = Annotated[str, Field(min_length=1, max_length=1000)]
FIRST = ("search", "get", "related", "find_tools")
"""Tools that are listed first: agents pay most attention to them."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the caller, whether it is this machine's user, and the progress callback."""

    service: Service
    caller: Caller
    local: bool
    stop: Event
    progress: ProgressCallback


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool; `run` returns the structured answer and the same as text.

    A client sends the description of every listed tool to its model, with every request: so it is short, the input's is
    too, and there is none of the output."""

    input_model: type[Body]
    description: str
    run: Callable[[Call, Any], tuple[dict[str, Any], str]]
    writes: bool = False
    answers: bool = False  # may take as long as a chat model does
    listed: bool = True  # otherwise it is listed only on request; it can be called all the same
    of: str = ""  # the program whose tool it is: it is offered only if `serve.tools_of` names that


def plain(found: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    return dict(found), json.dumps(found, ensure_ascii=False)


@cache
def tools() -> Mapping[str, ToolSpec]:
    """All tools of this folder, by name; those that write come last."""
    found: dict[str, ToolSpec] = {}
    for module in (one for one in iter_modules(__path__) if not one.name.startswith("_")):
        found |= import_module(f"{__name__}.{module.name}").TOOLS
    first = {name: found.pop(name) for name in FIRST}
    return {**first, **dict(sorted(found.items(), key=lambda one: one[1].writes))}


@cache
def tool_description(name: str) -> Tool:
    spec = tools()[name]
    hints = ToolAnnotations(read_only_hint=not spec.writes, open_world_hint=False)
    schema = brief_schema(spec.input_model)
    return Tool(name=name, description=spec.description, input_schema=schema, annotations=hints)
