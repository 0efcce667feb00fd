"""The tools: what an agent is told of each, what it takes, what it gives back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Event
from typing import Annotated, Any, Literal

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from watersmeet.engine.report import Tell
from watersmeet.face import shapes
from watersmeet.face.registering import register
from watersmeet.face.service import Service, sync
from watersmeet.face.tokens import Caller
from watersmeet.present.pack import nothing_packed, pack
from watersmeet.present.snippet import snippet

BUDGET = 2000
"""The tokens of the context pack that comes without asking."""

Id = Annotated[str, Field(min_length=1, max_length=1000)]


class Search(shapes.SearchBody):
    # a model that writes "5" for 5 is understood
    model_config = ConfigDict(strict=False, json_schema_extra={"examples": [{"query": "how are keys rotated?"}]})
    detail: Literal["compact", "full"] = Field(
        "compact",
        description="compact: the passages in `pack`, results with a snippet (none with `budget`); full: everything",
    )


class Get(shapes.Body):
    id: Id = Field(description="a `document` or an `id` as search gives it, or a name that only one document has")


class Related(Get):
    top_n: int = Field(10, ge=1, le=100, description="how many")


class FindTools(shapes.Body):
    task: shapes.Query = Field(description="what is to be done, in words")
    intent: Annotated[str, Field(max_length=2000)] = Field("", description="what it is part of")
    top_n: int = Field(10, ge=1, le=100, description="how many")


class Classify(shapes.Body):
    query: shapes.Query


class Nothing(shapes.Body):
    pass


class Sync(shapes.Body):
    paths: Annotated[list[Id], Field(max_length=100)] = Field(
        [], description="folders or files; none: what the index was made from"
    )


class Register(shapes.Body):
    records: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)] = Field(
        description="servers, agents, skills or virtual servers as JSON: path, name, description, tags, tools, ..."
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who calls, whether that is this machine's user, and how to tell of progress."""

    service: Service
    caller: Caller
    local: bool
    stop: Event
    tell: Tell


@dataclass(frozen=True, slots=True)
class Made:
    """A tool; `work` gives the structured answer and, if it reads better, the same as text."""

    takes: type[BaseModel]
    gives: type[BaseModel]
    title: str
    about: str
    work: Callable[[Call, Any], tuple[dict[str, Any], str]]
    writes: bool = False


def _plain(found: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    return dict(found), json.dumps(found, ensure_ascii=False)


def _search(call: Call, asked: Search) -> tuple[dict[str, Any], str]:
    found = call.service.search(asked.asking(), call.caller.viewer, call.stop)
    made = found.pack or pack(found.answer.results, BUDGET)
    answer = {**found.to_json(), "pack": made.to_json()}
    if asked.detail == "compact":
        for result in answer["results"]:
            if asked.budget:  # who counts tokens reads the pack
                result["text"], result["evidence"] = "", []
                continue
            result["text"] = "\n".join(snippet(result["text"], asked.query))
            result["evidence"] = [{key: one[key] for key in ("by", "rank", "score")} for one in result["evidence"]]
    nothing = nothing_packed(made.budget) if found.answer.results else "Nothing was found."
    text = [made.text or nothing]
    text += [f"Without {one.by}: {one.reason}" for one in found.answer.failures]
    return answer, "\n\n".join([*found.notes, *text])


def _get(call: Call, asked: Get) -> tuple[dict[str, Any], str]:
    found = call.service.get(asked.id, call.caller.viewer)
    return found, found["text"]


def _related(call: Call, asked: Related) -> tuple[dict[str, Any], str]:
    found = call.service.related(asked.id, asked.top_n, call.caller.viewer)
    lines = [f"{one['document']}: {one['title']} ({one['score']:.3f})" for one in found["results"]]
    return found, "\n".join(lines) or "No links lead from it or to it."


TOOLS: dict[str, Made] = {
    "search": Made(
        Search,
        shapes.SearchAnswer,
        "Search the documents",
        "Find the passages of the indexed documents that answer a question. Ask in plain words, or with an identifier, "
        "an error code or a name exactly as it is written; there is no query syntax. You get a context pack: the best "
        "passages, each under a heading `[n] title (document:first-last)` to cite it by, within `budget` tokens. "
        "Say in `intent` what you need it for if the words alone could mean several things. Narrow with `filters`, "
        "`since` and `before` rather than with more words. If nothing fits, ask again with other words before you "
        "conclude that it is not there; read a whole document with `get`.",
        _search,
    ),
    "get": Made(
        Get,
        shapes.Document,
        "Read a document",
        "Read one document in full, or one chunk of it, by the `document` or `id` of a search result. Use it when a "
        "passage of `search` is cut or its surroundings matter.",
        _get,
    ),
    "related": Made(
        Related,
        shapes.SearchAnswer,
        "What is linked with a document",
        "List the documents that a document links to or is linked from, the closest first. Use it to look around "
        "something that `search` found.",
        _related,
    ),
    "find_tools": Made(
        FindTools,
        shapes.Tools,
        "Find a tool for a task",
        "Find the registered tools that can do a task, with their servers and input schemas, so that you need not "
        "have all of them in your context. Describe the task in words.",
        lambda call, asked: _plain(call.service.find_tools(asked.task, asked.intent, asked.top_n, call.caller.viewer)),
    ),
    "classify_query": Made(
        Classify,
        shapes.Classified,
        "What sort of query it is",
        "Say whether a query names something exactly (identifier), asks in concepts (conceptual) or both (mixed), and "
        "which mode and how many results suit it. `search` sees to that by itself; use this to plan.",
        lambda call, asked: _plain(call.service.classify(asked.query)),
    ),
    "status": Made(
        Nothing,
        shapes.Status,
        "What the index holds",
        "How many documents of which kinds are indexed, and how far each kind of search has come.",
        lambda call, asked: _plain(call.service.status(call.caller.viewer)),
    ),
    "sync": Made(
        Sync,
        shapes.Synced,
        "Bring the index up to date",
        "Index folders and files, or bring the index up to date with them: changed files are read again, deleted ones "
        "disappear. Unchanged files cost next to nothing. Progress is reported.",
        lambda call, asked: _plain(sync(call.service, asked.paths, call.local, call.tell)),
        writes=True,
    ),
    "register": Made(
        Register,
        shapes.Registered,
        "Register servers, agents or skills",
        "Add entries to the registry, or replace those of the same path. They can be found at once.",
        lambda call, asked: _plain(register(call.service.engine, asked.records, call.caller.viewer, call.tell)),
        writes=True,
    ),
}


@cache
def described(name: str) -> Tool:
    made = TOOLS[name]
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
