"""Registry requests, declared once for Python, the command line, REST and MCP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, TypeVar

from watersmeet.core.entities import BUILT_IN
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import Condition, Request
from watersmeet.core.options import REQUIRED, option
from watersmeet.core.visibility import Viewer
from watersmeet.engine.query.modes import MODES, needs_vectors
from watersmeet.engine.settings.settings import recipes

MAX_RESULTS = 50
MAX_TOOLS = 100
MAX_QUERY_CHARS = 512
COUNT = ("top_n", "limit", "max_results", "top_k", "topK")
"""Accepted names for the number of results."""


def modes() -> tuple[str, ...]:
    return tuple(MODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RegistryRequest:
    intent: str = option("", "what the answer is for", longest=2000, metavar="TEXT")
    mode: str = option("", "search mode (default: hybrid, or lexical without vectors)", choices=modes, metavar="MODE")
    recipe: str = option("", "recipe to use (default: that of the settings)", choices=recipes, metavar="NAME")
    strict: bool = option(False, "fail if any signal of the recipe cannot be used")
    viewer: Viewer | None = None  # None: the owner of the index
    addresses: bool | None = None  # whether the asker may see addresses of backends; None: only the owner of the index
    stop: Callable[[], bool] | None = None  # called between steps: whether to cancel
    now: datetime | None = None
    condition: Condition = Condition()

    @property
    def shows_addresses(self) -> bool:
        return self.addresses if self.addresses is not None else self.viewer is None or self.viewer.all

    def request(self, query: str, top_n: int, condition: Condition) -> Request:
        """The search that it stands for."""
        return Request(
            query,
            self.mode,
            self.recipe,
            top_n,
            condition,
            self.intent,
            self.strict,
            self.viewer,
            self.stop,
            self.now,
        )


@dataclass(frozen=True, slots=True)
class EntityRequest(_RegistryRequest):
    """A search for entities of all kinds, in groups."""

    query: str = option("", "query; #tag is a filter", longest=MAX_QUERY_CHARS, metavar="QUERY")
    entity_types: tuple[str, ...] | None = option(
        None,
        f"only these types: {', '.join(BUILT_IN)}, or one that the settings declare; default: all",
        metavar="TYPE",
        flags=("--type",),
    )
    max_results: int = option(10, "number of results in all", least=1, most=MAX_RESULTS, aliases=COUNT, flags=("-n",))
    include_deprecated: bool = option(False, "include deprecated entities")
    include_draft: bool = option(False, "include drafts")
    include_disabled: bool = option(False, "include disabled entities")
    tags: tuple[str, ...] = option(
        (), "only with this tag or one below it; several: with all of them", metavar="TAG", flags=("--tag",)
    )

    metadata_fields: tuple[str, ...] = option(
        (),
        "only these fields of the metadata, with dots for inner ones: team, build.version; default: all",
        metavar="FIELD",
        flags=("--metadata-field",),
    )

    def checked(self) -> None:
        """Raise if the request is invalid."""
        if not 1 <= self.max_results <= MAX_RESULTS:
            raise ConfigError(f"max_results is {self.max_results}", f"use 1 to {MAX_RESULTS}")
        if len(self.query) > MAX_QUERY_CHARS:
            raise ConfigError(f"the query has {len(self.query)} characters", f"shorten it to at most {MAX_QUERY_CHARS}")
        for tag in self.tags:
            if not tag.strip().lstrip("#"):
                raise ConfigError(f"{tag!r} is not a tag", "a tag has a name: --tag docs, or #docs in the query")
        needs_vectors(self.mode)  # raises for an unknown mode
        if not self.query.strip() and not self.tags:
            raise ConfigError("there is neither a query nor a tag", "give a query, or a tag")


@dataclass(frozen=True, slots=True)
class ToolRequest(_RegistryRequest):
    """A search for the tools to call for a task."""

    task: str = option(
        REQUIRED,
        "what is to be done, in words",
        least=1,
        longest=MAX_QUERY_CHARS,
        metavar="TASK",
        example="what will the weather be like?",
    )
    top_n: int = option(10, "number of tools", least=1, most=MAX_TOOLS, aliases=COUNT, flags=("-n",))
    pinned: tuple[str, ...] = option(
        (), "always include this tool: NAME or SERVER_PATH#NAME", metavar="TOOL", flags=("--pin",)
    )

    def checked(self) -> None:
        """Raise if the request is invalid."""
        if not self.task.strip():
            raise ConfigError("there is no task", "describe what the tools are for")
        if not 1 <= self.top_n <= MAX_TOOLS:
            raise ConfigError(f"top_n is {self.top_n}", f"use 1 to {MAX_TOOLS}")


R = TypeVar("R", EntityRequest, ToolRequest)


def build(kind: type[R], request: R | str, options: Mapping[str, Any]) -> R:
    """A request from its text and options by name."""
    valid = [one.name for one in fields(kind)]
    for name in options:
        if name not in valid:
            raise ConfigError(f"there is no option {name!r}", nearest(name, valid))
    return kind(request, **options) if isinstance(request, str) else replace(request, **options)
