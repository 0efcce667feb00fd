"""What the tools of predecessors share: searches with their parameters, and results in few fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from watersmeet.core.model import Result
from watersmeet.face.mcp.tools import Call
from watersmeet.face.search import SearchParams

MAX_EXCERPT = 4000


def found(call: Call, params: SearchParams) -> Sequence[Result]:
    return call.service.search(params, call.caller.viewer, call.stop).answer.results


def excerpt(text: str, most: int = MAX_EXCERPT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(items: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """A list as structured content, under the name that servers of lists use for it."""
    return {"result": items}, json.dumps(items, ensure_ascii=False)
