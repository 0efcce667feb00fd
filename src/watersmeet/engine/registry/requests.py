"""What a registry is asked: declared once, for Python, the command line, REST and MCP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from watersmeet.core.entities import KINDS, TOOL
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import Condition, Request
from watersmeet.core.options import REQUIRED, option
from watersmeet.core.visibility import Viewer
from watersmeet.engine.query.modes import MODES, needs_vectors
from watersmeet.engine.settings.settings import recipes

MOST_RESULTS = 50
MOST_TOOLS = 100
LONGEST = 512
TYPES = (*KINDS, TOOL)
COUNT = ("top_n", "limit", "max_results", "top_k", "topK")
"""What people call the number of results."""


def modes() -> tuple[str, ...]:
    return tuple(MODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    intent: str = option("", "what the answer is for", longest=2000, metavar="TEXT")
    mode: str = option("", "how it is looked for; else the best there is", choices=modes, metavar="MODE")
    recipe: str = option("", "which recipe answers; else as the settings say", choices=recipes, metavar="NAME")
    strict: bool = option(False, "fail if any signal of the recipe could not vote")
    viewer: Viewer | None = None  # none: whoever owns the index
    stop: Callable[[], bool] | None = None  # asked between steps: whether nobody waits for it any more
    now: datetime | None = None
    condition: Condition = Condition()

    def request(self, query: str, top_n: int, condition: Condition) -> Request:
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
class EntityRequest(_Asked):
    """The best entities of all kinds, in groups."""

    query: str = option("", "what is looked for; #tag is a filter", longest=LONGEST, metavar="QUERY")
    entity_types: tuple[str, ...] | None = option(
        None, "only these types; all, if none is named", choices=lambda: TYPES, metavar="TYPE", flags=("--type",)
    )
    max_results: int = option(10, "how many in all", least=1, most=MOST_RESULTS, aliases=COUNT, flags=("-n",))
    include_deprecated: bool = option(False, "also what is deprecated")
    include_draft: bool = option(False, "also drafts")
    include_disabled: bool = option(False, "also what is disabled")
    tags: tuple[str, ...] = option(
        (), "with this tag or one below it; all of them, if several are named", metavar="TAG", flags=("--tag",)
    )

    def checked(self) -> None:
        """Complains about what cannot be answered."""
        if not 1 <= self.max_results <= MOST_RESULTS:
            raise ConfigError(f"max_results is {self.max_results}", f"ask for 1 to {MOST_RESULTS}")
        if len(self.query) > LONGEST:
            raise ConfigError(f"the query has {len(self.query)} characters", f"at most {LONGEST} are read; shorten it")
        for name in self.entity_types or ():
            if name not in TYPES:
                raise ConfigError(f"no entity type called {name!r}", nearest(name, TYPES))
        for tag in self.tags:
            if not tag.strip().lstrip("#"):
                raise ConfigError(f"{tag!r} is no tag", "a tag has a name: --tag docs, or #docs in the query")
        needs_vectors(self.mode)  # it refuses a mode that there is not, also where nothing is ranked
        if not self.query.strip() and not self.tags:
            raise ConfigError("neither a query nor tags", "say what you look for, or name a tag")


@dataclass(frozen=True, slots=True)
class ToolRequest(_Asked):
    """The tools to call for a task."""

    task: str = option(
        REQUIRED,
        "what is to be done, in words",
        least=1,
        longest=LONGEST,
        metavar="TASK",
        example="what will the weather be like?",
    )
    top_n: int = option(10, "how many tools", least=1, most=MOST_TOOLS, aliases=COUNT, flags=("-n",))
    pinned: tuple[str, ...] = option(
        (), "always offer this one too: NAME or SERVER_PATH#NAME", metavar="TOOL", flags=("--pin",)
    )

    def checked(self) -> None:
        if not self.task.strip():
            raise ConfigError("there is no task", "say what the tools are for")
        if not 1 <= self.top_n <= MOST_TOOLS:
            raise ConfigError(f"top_n is {self.top_n}", f"ask for 1 to {MOST_TOOLS}")
