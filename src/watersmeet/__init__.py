"""watersmeet finds the few passages that answer a query, by letting several kinds of search vote.

`Engine` opens an index, `Client` asks a `watersmeet serve`; `AsyncEngine` and `AsyncClient` are the same for asyncio.
`Indexes` asks several indexes as one. The other names are what these take, return and raise.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watersmeet.client.async_client import AsyncClient
    from watersmeet.client.client import Client
    from watersmeet.core.errors import (
        Ambiguous,
        ConfigError,
        CostRefused,
        Degraded,
        IndexBusy,
        IndexProblem,
        ModelProblem,
        NoIndex,
        NoReply,
        NotAllowed,
        NotFound,
        SourceProblem,
        Stopped,
        Unreachable,
        WatersmeetError,
    )
    from watersmeet.core.model import Answer, Request, Result
    from watersmeet.engine.ask.model import AnswerText, CitedPassage, Turn
    from watersmeet.engine.ask.stream import AnswerStream
    from watersmeet.engine.async_engine import AsyncEngine
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.query.multi_index import MultiIndex as Indexes
    from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
    from watersmeet.engine.sync.report import SyncReport

__version__ = "0.1.0"
__all__ = [
    "Ambiguous",
    "Answer",
    "AnswerStream",
    "AnswerText",
    "AsyncClient",
    "AsyncEngine",
    "CitedPassage",
    "Client",
    "ConfigError",
    "CostRefused",
    "Degraded",
    "Engine",
    "EntityRequest",
    "IndexBusy",
    "IndexProblem",
    "Indexes",
    "ModelProblem",
    "NoIndex",
    "NoReply",
    "NotAllowed",
    "NotFound",
    "Request",
    "Result",
    "SourceProblem",
    "Stopped",
    "SyncReport",
    "ToolRequest",
    "Turn",
    "Unreachable",
    "WatersmeetError",
    "__version__",
]
_MODULES = {
    "AnswerStream": "engine.ask.stream",
    "AnswerText": "engine.ask.model",
    "AsyncClient": "client.async_client",
    "AsyncEngine": "engine.async_engine",
    "CitedPassage": "engine.ask.model",
    "Client": "client.client",
    "Engine": "engine.engine",
    "EntityRequest": "engine.registry.requests",
    "Indexes": "engine.query.multi_index",
    "SyncReport": "engine.sync.report",
    "ToolRequest": "engine.registry.requests",
    "Turn": "engine.ask.model",
    **dict.fromkeys(("Answer", "Request", "Result"), "core.model"),
}
"""Where the public names are; the others are errors. Each is loaded when it is asked for: `--help` pays for none."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'watersmeet' has no attribute {name!r}")
    module = importlib.import_module(f"watersmeet.{_MODULES.get(name, 'core.errors')}")
    return getattr(module, "MultiIndex" if name == "Indexes" else name)
