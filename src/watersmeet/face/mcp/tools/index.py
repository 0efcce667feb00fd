"""The index: what it holds, and bringing it up to date."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from watersmeet.face import shapes
from watersmeet.face.mcp.tools import Id, Made, plain
from watersmeet.face.schema import Body
from watersmeet.face.service import sync


class Nothing(Body):
    pass


class Sync(Body):
    paths: Annotated[list[Id], Field(max_length=100)] = Field(
        [], description="folders or files; none: what the index was made from"
    )


TOOLS = {
    "status": Made(
        Nothing,
        shapes.Status,
        "What the index holds",
        "How many documents of which kinds are indexed, and how far each kind of search has come.",
        lambda call, asked: plain(call.service.status(call.caller.viewer)),
    ),
    "sync": Made(
        Sync,
        shapes.Synced,
        "Bring the index up to date",
        "Index folders and files, or bring the index up to date with them: changed files are read again, deleted ones "
        "disappear. Unchanged files cost next to nothing. Progress is reported.",
        lambda call, asked: plain(sync(call.service, asked.paths, call.local, call.progress)),
        writes=True,
    ),
}
