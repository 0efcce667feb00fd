"""Which tools should be called for a task?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import asked as words_of
from watersmeet.core.boosts import said, singular
from watersmeet.core.entities import TOOL
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition, DocId, Failure, Hit
from watersmeet.core.ports import Entities
from watersmeet.core.viewers import Viewer
from watersmeet.engine.registry.asking import SearchRequest, failed, understood
from watersmeet.engine.registry.running import Asked, certainty, elapsed, run
from watersmeet.engine.settings import RegistrySettings

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

MOST = 100
_STAGES = ("top", "unit")


def find_tools(
    engine: Engine,
    task: str,
    intent: str = "",
    top_n: int = 10,
    viewer: Viewer | None = None,
    pinned: Sequence[str] = (),
    recipe: str = "",
    mode: str = "",
    condition: Condition | None = None,
) -> dict[str, Any]:
    """The tools to call, the best first, with what they take; those that are pinned are always among them."""
    start = time.perf_counter()
    if not task.strip():
        raise ConfigError("there is no task", "say what the tools are for")
    if not 1 <= top_n <= MOST:
        raise ConfigError(f"top_n is {top_n}", f"ask for 1 to {MOST}")
    settings = engine._settings(recipe)
    own: RegistrySettings = settings.section("registry")
    text, wanted = understood(SearchRequest(task, viewer=viewer, condition=condition or Condition()))
    signals = tuple(settings.section("pipeline").signals)
    asked = Asked(text, wanted, (TOOL,), top_n, _STAGES, signals, mode=mode, intent=intent)
    with run(engine, settings, asked) as ran:
        leads = ran.entities.leads([hit.chunk for hit in ran.outcome.ranking.hits])
        found = {leads[hit.chunk].document: hit for hit in ran.outcome.ranking.hits}
        always, failures = _pinned(dict.fromkeys((*own.pinned, *pinned)), ran.entities, wanted)
        room = max(0, top_n - len([name for name in always if name not in found]))
        shown = [name for place, name in enumerate(found) if place < room or name in always]
        shown += [name for name in always if name not in found]
        records = ran.entities.records(shown)
        sure = ran.sure()
    words = words_of(text)
    return {
        "task": task,
        "tools": [_offered(records[name], found.get(name), name in always, words) for name in shown],
        "mode": ran.mode,
        "recipe": settings.recipe,
        **certainty(sure),
        "failures": [failed(failure) for failure in (*ran.outcome.failures, *failures)],
        "took_ms": elapsed(start),
    }


def _pinned(
    names: Mapping[str, None], entities: Entities, condition: Condition
) -> tuple[dict[DocId, None], list[Failure]]:
    """The tools that are pinned and may be seen; a name of which there is none is no secret and no error."""
    tools = entities.tools(list(names), condition)
    known = {name for pair in tools for name in pair}
    hint = "registry.pinned names tools: NAME, or SERVER_PATH#NAME"
    missing = [Failure("pinned", f"there is no tool {name!r}", hint) for name in names if name not in known]
    return dict.fromkeys(identity for identity, _ in tools), missing


def _offered(record: Mapping[str, Any], hit: Hit | None, pinned: bool, words: Sequence[str]) -> dict[str, Any]:
    return {
        "tool_name": record["name"],
        "server_path": record["server"],
        "server_name": record.get("server_name", ""),
        "description": record.get("description", ""),
        "inputSchema": record.get("inputSchema") or {},
        "score": round(hit.score, 4) if hit else 0.0,
        "why": "; ".join(_reasons(record, hit, pinned, words)),
    }


def _reasons(record: Mapping[str, Any], hit: Hit | None, pinned: bool, words: Sequence[str]) -> list[str]:
    """The words that it says, and who ranked it where."""
    reasons = ["pinned"] if pinned else []
    for place in ("name", "description"):
        held = said(record.get(place) or "")
        shared = [word for word in words if singular(word) in held]
        if shared:
            reasons.append(f"{place} says {', '.join(shared)}")
    if hit is not None:
        ranks = [f"{e.by}#{e.rank}" for e in hit.evidence if "contribution" in e.detail and not e.detail.get("filled")]
        reasons += [", ".join(ranks)] if ranks else []
    return reasons
