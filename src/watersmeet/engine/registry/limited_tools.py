"""Tools that not all who see their server may see: shown to those who may, and kept when others change the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from watersmeet.core.entities import SERVER, TOOL, Entity, tool_audience
from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition
from watersmeet.core.visibility import AUDIENCE_GATE, Viewer, audience_gates

_OF_SERVER = ("kind", "server", "server_name")
"""Keys of a tool's own record that it lacks in the record of its server."""


def with_limited_tools(snapshot: Snapshot, found: Mapping[str, Any], viewer: Viewer | None) -> dict[str, Any]:
    """The record of a server with those of its limited tools that the viewer may see. The record in its document has
    none: whoever sees the server sees that."""
    if found.get("kind") != SERVER:
        return dict(found)
    condition = Condition({"kind": (TOOL,), "server": (str(found["path"]).casefold(),)}, gates=audience_gates(viewer))
    records = [one.fields["record"] for one in snapshot.records(condition)]
    limited = [
        {key: value for key, value in one.items() if key not in _OF_SERVER} for one in records if "visibility" in one
    ]
    return {**found, "tools": [*found["tools"], *limited]} if limited else dict(found)


def with_hidden_tools(entity: Entity, before: Entity, viewer: Viewer | None) -> Entity:
    """A server as the viewer writes it, with the tools that it had and that the viewer may not see."""
    allowed = audience_gates(viewer).get(AUDIENCE_GATE)
    if allowed is None:
        return entity
    hidden = {tool.name: tool for tool in before.tools if not {*tool_audience(tool, before)}.intersection(allowed)}
    own = (tool for tool in entity.tools if tool.name not in hidden)
    return replace(entity, tools=(*own, *hidden.values())) if hidden else entity
