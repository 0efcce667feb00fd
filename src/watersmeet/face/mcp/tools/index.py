"""MCP tools for the index: status and sync."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from watersmeet.face import shapes
from watersmeet.face.mcp.tools import Id, ToolSpec, plain
from watersmeet.face.schema import Body
from watersmeet.face.service import sync


class Nothing(Body):
    pass


class Sync(Body):
    paths: Annotated[list[Id], Field(max_length=100)] = Field(
        [], description="folders or files; none: everything that is indexed already"
    )


TOOLS = {
    "status": ToolSpec(
        Nothing,
        shapes.Status,
        "Show what the index contains",
        "The number of indexed documents by kind, and the share of them that each signal covers.",
        lambda call, arguments: plain(call.service.status(call.caller.viewer, call.caller.is_local)),
    ),
    "sync": ToolSpec(
        Sync,
        shapes.Synced,
        "Bring the index up to date",
        "Index folders and files, or bring the index up to date with them: changed files are read again, deleted ones "
        "are removed, unchanged ones are skipped quickly. Progress is reported.",
        lambda call, arguments: plain(sync(call.service, arguments.paths, call.local, call.progress)),
        writes=True,
    ),
}
