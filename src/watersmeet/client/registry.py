"""The registry of a server: `Client.registry`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watersmeet.client.decode import decoded
from watersmeet.client.transport import Transport, segment
from watersmeet.core.errors import ConfigError

if TYPE_CHECKING:
    from watersmeet.common.http import Cancellation
    from watersmeet.engine.registry import Registered
    from watersmeet.engine.registry.registry import Reindexed
    from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
    from watersmeet.present.mcp_configuration import ServerConfiguration
    from watersmeet.present.registry import EntityAnswer, ToolAnswer

_LISTS = {"": "entities", "mcp_server": "servers", "a2a_agent": "agents"}
"""Lists of one kind; the others are asked for by their `type`."""


@dataclass(frozen=True, slots=True)
class ClientRegistry:
    """Registered entities of a server: search, read and write them. Available as `Client.registry`."""

    _transport: Transport

    def _cancelled_by(self, cancellation: Cancellation) -> ClientRegistry:
        """The same registry for one call, which can be cancelled from another thread."""
        return ClientRegistry(self._transport.cancelled_by(cancellation))

    # ------------------------------------------------------------ writing

    def register(self, records: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Registered:
        """Register one record or several, in any format that `watersmeet register` reads as JSON. An entity at the same
        path is replaced. The server must allow writing."""
        from watersmeet.engine.registry import Registered

        if isinstance(records, str | bytes):
            raise ConfigError("a server takes records, not files", "read the file here: register(json.load(file))")
        sent = dict(records) if isinstance(records, Mapping) else [dict(one) for one in records]
        return decoded(Registered, self._transport.write("POST", "/api/entities", sent))

    def unregister(self, paths: str | Sequence[str]) -> int:
        """Remove entities with their tools; returns the number of entities."""
        return sum(self._transport.write("DELETE", _entity(path))["removed"] for path in _listed(paths))

    def set_status(self, paths: str | Sequence[str], status: str) -> int:
        """Set the status: active, beta, deprecated or draft; returns the number of changed entities."""
        return self._change(paths, "status", status)

    def enable(self, paths: str | Sequence[str]) -> int:
        """Enable entities; returns the number of changed ones."""
        return self._change(paths, "enabled", True)

    def disable(self, paths: str | Sequence[str]) -> int:
        """Disable entities, so that searches leave them out; returns the number of changed ones."""
        return self._change(paths, "enabled", False)

    def _change(self, paths: str | Sequence[str], name: str, value: str | bool) -> int:
        changed = 0
        for path in _listed(paths):
            before = self.get(path)
            changed += self._transport.write("PATCH", _entity(path), {name: value}) != before
        return changed

    def reindex(self, paths: str | Sequence[str] = ()) -> Reindexed:
        """Make the documents of entities anew from their records, and vectors where they are missing; without paths of
        all entities."""
        from watersmeet.engine.registry.registry import Reindexed

        return decoded(Reindexed, self._transport.write("POST", "/api/reindex", {"paths": list(_listed(paths))}))

    def accept(self, identity: str, hash: str) -> None:
        """Accept the description of an entity or tool as it was read: `identity` and `hash` are those of `review`."""
        self._transport.write("POST", "/api/review", {"id": identity, "hash": hash})

    # ------------------------------------------------------------ checks

    def check_duplicates(
        self, records: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, min_score: float = 0.6
    ) -> dict[str, Any]:
        """For each record the registered entities with its path, name or content, and those that share at least
        `min_score` of their words with it. Nothing is registered."""
        sent = dict(records) if isinstance(records, Mapping) else [dict(one) for one in records]
        return dict(self._transport.read("/api/check-duplicates", {"min_score": min_score}, body=sent))

    def embeddings(self) -> dict[str, Any]:
        """Entities and tools without a vector (`missing`), and those with one of another model or text (`stale`)."""
        return dict(self._transport.read("/api/embeddings"))

    def review(self) -> list[dict[str, Any]]:
        """Descriptions that a person should read, since agents act on them: those that have changed since they were
        registered, and those that read like instructions. Each has an `id` and a `hash` for `accept`."""
        found: list[dict[str, Any]] = self._transport.read("/api/review")["descriptions"]
        return found

    def provenance(self, path: str) -> dict[str, Any]:
        """Where a record came from: `via` (cli, rest, ...) and `at`."""
        return dict(self._transport.read(f"/api/provenance/{segment(path)}"))

    # ------------------------------------------------------------ reading

    def statistics(self) -> dict[str, Any]:
        """Number of entities of each kind, and the collection that their vectors are written to."""
        return dict(self._transport.read("/api/stats"))

    def get(self, path: str) -> dict[str, Any]:
        """The record of an entity, or of a tool (`SERVER#TOOL`)."""
        return dict(self._transport.read(_entity(path)))

    def configuration(self, path: str) -> ServerConfiguration:
        """The ways to connect to a server, each as JSON for the settings of an MCP client, without secrets. A token
        that may only read gets no addresses of backends."""
        from watersmeet.present.mcp_configuration import ServerConfiguration

        return decoded(ServerConfiguration, self._transport.read(f"/api/servers/{segment(path)}/configuration"))

    def search(self, /, request: EntityRequest | str, **options: Any) -> EntityAnswer:
        """Search entities of all kinds; the answer groups them, with their matching tools. `options` are fields of
        `EntityRequest`, such as `entity_types`, `tags` or `max_results`."""
        from watersmeet.client.requests import registry_fields
        from watersmeet.engine.registry.requests import EntityRequest, build
        from watersmeet.present.registry import EntityAnswer

        body = registry_fields(build(EntityRequest, request, options))
        return decoded(EntityAnswer, self._transport.read("/api/search/semantic", body=body))

    def find_tools(self, /, task: ToolRequest | str, **options: Any) -> ToolAnswer:
        """Find the tools to call for a task; `options` are fields of `ToolRequest`, such as `intent`, `top_n` or
        `recipe`."""
        from watersmeet.client.requests import registry_fields
        from watersmeet.engine.registry.requests import ToolRequest, build
        from watersmeet.present.registry import ToolAnswer

        query = registry_fields(build(ToolRequest, task, options))
        return decoded(ToolAnswer, self._transport.read("/api/find-tools", query))

    def listing(
        self, /, kind: str = "", query: str = "", *, metadata_fields: Sequence[str] = (), **include: bool
    ) -> list[Any]:
        """Records of a kind that contain the query; `include_deprecated`, `include_draft`, `include_disabled`.
        `metadata_fields`: only these of the metadata, as in `search`."""
        name = _LISTS.get(kind, _LISTS[""])
        flags = {key: str(value).lower() for key, value in include.items()}
        sent = {"query": query, **flags, **({"metadata_fields": list(metadata_fields)} if metadata_fields else {})}
        sent |= {} if kind in _LISTS else {"type": kind}
        found: list[Any] = self._transport.read(f"/api/{name}", sent)[name]
        return [one for one in found if not kind or one["kind"] == kind]

    def skills_search(self, q: str) -> list[dict[str, Any]]:
        """Skills that contain the query, scored by the fields that match."""
        found: list[dict[str, Any]] = self._transport.read("/api/skills/search", {"q": q})["skills"]
        return found

    def tags(self) -> list[dict[str, Any]]:
        """All tags, each with its number of entities."""
        found: list[dict[str, Any]] = self._transport.read("/api/search/tags")["tags"]
        return found


def _listed(paths: str | Sequence[str]) -> Sequence[str]:
    return [paths] if isinstance(paths, str) else paths


def _entity(path: str) -> str:
    return f"/api/entities/{segment(path)}"
