"""MCP tools for the index: status, sync and remove."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from watersmeet.face.index_writes import SyncParams, remove, sync
from watersmeet.face.mcp.tools import Id, ToolSpec, plain
from watersmeet.face.schema import Body, body, from_body

Sync = body(SyncParams, "Sync", strict=False)


class Nothing(Body):
    pass


class Remove(Body):
    ids: Annotated[list[Id], Field(min_length=1, max_length=100)] = Field(description="documents, or names of roots")
    dry_run: bool = Field(False, description="only count")


TOOLS = {
    "status": ToolSpec(
        Nothing,
        "Count the indexed documents and list the roots (folders, sites) they come from.",
        lambda call, arguments: plain(call.service.status(call.caller.viewer, call.caller.is_local)),
    ),
    "sync": ToolSpec(
        Sync,
        "Bring the index up to date with its folders, or add a folder. Progress is reported.",
        lambda call, arguments: plain(
            sync(call.service.engine, from_body(SyncParams, arguments), call.local, call.progress, call.caller)
        ),
        writes=True,
    ),
    "remove": ToolSpec(
        Remove,
        "Remove documents or a whole root from the index; files stay.",
        lambda call, arguments: plain(remove(call.service.engine, arguments.ids, call.caller, arguments.dry_run)),
        writes=True,
    ),
}
