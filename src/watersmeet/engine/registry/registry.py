"""The registry API of an index."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.entities import ORIGIN, Entity, Refused, status_of
from watersmeet.core.errors import ConfigError, NotFound, SourceProblem
from watersmeet.core.model import DocId
from watersmeet.core.names import entity_path, link_key, same_path
from watersmeet.core.visibility import STATUSES, Viewer
from watersmeet.engine.query.visibility import is_limited, visible_to
from watersmeet.engine.registry import register
from watersmeet.engine.registry.register import Registered
from watersmeet.engine.registry.shared_records import shared_records

if TYPE_CHECKING:
    from watersmeet.core.registry_records import SharedRecords
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.registry.pull import PullReport
    from watersmeet.engine.registry.record_files import Item
    from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
    from watersmeet.engine.sync.report import ProgressCallback
    from watersmeet.present.mcp_configuration import ServerConfiguration
    from watersmeet.present.registry import EntityAnswer, ToolAnswer


MIN_ALIKE = 0.6
"""Share of words from which an entity counts as a near duplicate."""


class Reindexed(NamedTuple):
    """The report of a reindexing."""

    reindexed: int
    embedded: int
    cached: int
    took_ms: float


@dataclass(frozen=True, slots=True)
class Registry:
    """Registered entities of an index: write, read and search them. Available as `Engine.registry`."""

    engine: Engine

    # ------------------------------------------------------------ writing

    def register(
        self,
        place: str | os.PathLike[str] | bytes | Iterable[Any],
        *,
        kind: str = "",
        server: str = "",
        deepen: bool = True,
        progress: ProgressCallback | None = None,
        seconds: float = math.inf,
        viewer: Viewer | None = None,
    ) -> Registered:
        """Register the records of a file, a folder or a list, in any format that `watersmeet register` reads.

        `kind`: of records that do not name theirs. `server`: the path of the server that listed tools belong to.
        `seconds`: time limit for embedding. `viewer`: who registers; tools that they may not see are kept.
        """
        from watersmeet.engine.registry.record_files import read

        where = os.fspath(place) if isinstance(place, os.PathLike) else place
        found = list(read(where, self.engine.settings, kind, bool(server)))
        if not found and isinstance(where, str) and os.path.isdir(where):
            raise SourceProblem(
                f"there is nothing to register in {where}", "`watersmeet register --help` lists the formats"
            )
        return self._register(found, deepen, progress or (lambda _: None), server, seconds, viewer=viewer)

    def put(
        self,
        *entities: Entity,
        deepen: bool = True,
        progress: ProgressCallback | None = None,
        seconds: float = math.inf,
        viewer: Viewer | None = None,
    ) -> Registered:
        """Register entities. One at the same path is replaced, including its status and enabled, but not tools that the
        viewer may not see."""
        from watersmeet.engine.registry.types import check_types, known_types

        check_types([entity.kind for entity in entities], known_types(self.engine.settings, ()))
        found = [(entity.path, entity) for entity in entities]
        return self._register(found, deepen, progress or (lambda _: None), seconds=seconds, keep=False, viewer=viewer)

    def unregister(self, paths: str | Sequence[str]) -> int:
        """Remove entities with their tools; returns the number of entities."""
        listed = [paths] if isinstance(paths, str) else paths
        with self._audited("unregister", listed) as result, self._shared() as shared:
            result["unregistered"] = register.unregister(self.engine.index, self.engine.settings, listed, shared)
        return int(result["unregistered"])

    def set_status(self, paths: str | Sequence[str], status: str) -> int:
        """Set the status: active, beta, deprecated or draft; returns the number of changed entities."""
        if not status.strip():
            raise ConfigError("the status is empty", f"use one of {', '.join(STATUSES)}")
        return self._change("set-status", paths, status=status_of(status))

    def enable(self, paths: str | Sequence[str]) -> int:
        """Enable entities; returns the number of changed ones."""
        return self._change("enable", paths, enabled=True)

    def disable(self, paths: str | Sequence[str]) -> int:
        """Disable entities, so that searches leave them out; returns the number of changed ones."""
        return self._change("disable", paths, enabled=False)

    def _change(self, action: str, paths: str | Sequence[str], **changes: Any) -> int:
        listed = [paths] if isinstance(paths, str) else paths
        with self._audited(action, listed, **changes) as result, self._shared() as shared:
            result["changed"] = register.change(self.engine.index, self.engine.settings, listed, changes, shared)
        return int(result["changed"])

    def reindex(
        self,
        paths: str | Sequence[str] = (),
        *,
        progress: ProgressCallback | None = None,
        seconds: float = math.inf,
    ) -> Reindexed:
        """Make the documents of entities anew from their records, and vectors where they are missing; without paths of
        all entities. `seconds`: time limit for embedding."""
        listed = [paths] if isinstance(paths, str) else list(paths)
        start = time.perf_counter()
        with self._audited("reindex", listed) as result, self._shared():
            before, count = register.reindex(self.engine.index, self.engine.settings, listed)
            made = self.engine.deepen(progress, seconds, after=before if seconds < math.inf else 0)
            result["reindexed"] = count
        return Reindexed(count, made.embedded, made.cached, round((time.perf_counter() - start) * 1000, 1))

    def accept(self, identity: str, hash: str, viewer: Viewer | None = None) -> None:
        """Accept the description of an entity or tool as it was read: `identity` and `hash` are those of `review`."""
        from watersmeet.engine.registry.review import accept

        with self._audited("accept", [identity], hash=hash):
            accept(self.engine, identity, hash, viewer)

    def _audited(self, action: str, targets: Sequence[str], **detail: Any) -> AbstractContextManager[dict[str, Any]]:
        """An entry of the audit log around a change."""
        from watersmeet.engine.audit import audited

        return audited(self.engine.index, action, targets, **detail)

    @contextmanager
    def _shared(self) -> Iterator[SharedRecords | None]:
        """The shared database, if there is one, for a change: the index is brought up to date with it before, and what
        it publishes afterwards."""
        shared = shared_records(self.engine.settings)
        if shared is None:
            yield None
            return
        from watersmeet.engine.registry.publish import publish

        self.pull(deepen=False)
        yield shared
        publish(self.engine, shared)

    def pull(self, *, whole: bool = False, deepen: bool = True, progress: ProgressCallback | None = None) -> PullReport:
        """Bring the index up to date with the shared database of the settings. `whole`: compare all records with the
        index, not only those that have changed since the last pull."""
        from watersmeet.engine.registry.pull import pull

        return pull(self.engine, whole=whole, deepen=deepen, progress=progress or (lambda _: None))

    def _register(
        self,
        found: Sequence[Item],
        deepen: bool,
        progress: ProgressCallback,
        server: str = "",
        seconds: float = math.inf,
        keep: bool = True,
        viewer: Viewer | None = None,
    ) -> Registered:
        from watersmeet.engine.registry.types import admitted, declared_types

        start = time.perf_counter()
        report = Registered()
        types = declared_types(self.engine.settings)
        found = [admitted(item, self.engine.settings, types) for item in found]
        readable = [item for item in found if not isinstance(item, Refused)]
        named = [item[1].path if isinstance(item, tuple) else item.path for item in readable]
        with self._audited("register", named) as result, self._shared() as shared:
            before = register.register(
                self.engine.index, self.engine.settings, found, report, progress, server, keep, shared, viewer
            )
            after = before if seconds < math.inf else 0  # with a time limit, embed only the rows of this write
            made = self.engine.deepen(progress, seconds, deepen, after)
            result |= {"registered": report.registered, "unchanged": report.unchanged}
        report.embedded = made.embedded
        report.warnings = [Refused(item.path, item.reason) for item in made.warnings]
        report.took_ms = (time.perf_counter() - start) * 1000
        return report

    # ------------------------------------------------------------ checks

    def check_duplicates(
        self,
        place: str | os.PathLike[str] | bytes | Iterable[Any],
        *,
        kind: str = "",
        min_score: float = MIN_ALIKE,
        viewer: Viewer | None = None,
    ) -> dict[str, Any]:
        """For each record of a file, a folder or a list, the registered entities with its path, name or content, and
        those that share at least `min_score` of their words with it. Nothing is registered."""
        from watersmeet.engine.registry.duplicates import check
        from watersmeet.engine.registry.record_files import read

        if not 0 <= min_score <= 1:
            raise ConfigError(f"min_score cannot be {min_score}", "use 0 to 1")
        where = os.fspath(place) if isinstance(place, os.PathLike) else place
        return check(self.engine, list(read(where, self.engine.settings, kind, True)), min_score, viewer)

    def embeddings(self, viewer: Viewer | None = None) -> dict[str, Any]:
        """Entities and tools without a vector (`missing`), and those with one of another model or text (`stale`)."""
        from watersmeet.engine.registry.embeddings import embeddings

        return embeddings(self.engine, viewer)

    def review(self, viewer: Viewer | None = None) -> list[dict[str, Any]]:
        """Descriptions that a person should read, since agents act on them: those that have changed since they were
        registered, and those that read like instructions. Each has an `id` and a `hash` for `accept`."""
        from watersmeet.engine.registry.review import review

        return review(self.engine, viewer)

    def provenance(self, path: str, viewer: Viewer | None = None) -> dict[str, Any]:
        """Where a record came from: `source` (a file or database), `via` (cli, rest, ...), `user`, `token` and `at`.
        A viewer who may not see everything gets `via` and `at`."""
        name = self.spelled(path.partition("#")[0], viewer)
        with self.engine.snapshot() as snapshot:
            found = snapshot.record(DocId(name), visible_to(viewer)) if name else None
        if found is None or "record" not in found.fields:
            raise NotFound(f"{path!r} is not registered", "`watersmeet get` shows any document")
        origin = dict(found.fields.get(ORIGIN) or {})
        return {"path": name, **{key: origin[key] for key in origin if not is_limited(viewer) or key in ("via", "at")}}

    # ------------------------------------------------------------ the shared database

    def statistics(self, viewer: Viewer | None = None) -> dict[str, Any]:
        """Number of entities of each kind, and the collection that their vectors are written to."""
        from watersmeet.engine.registry.database_state import statistics

        return statistics(self.engine, viewer)

    # ------------------------------------------------------------ reading

    def get(self, path: str, viewer: Viewer | None = None) -> dict[str, Any]:
        """The record of an entity, or of a tool (`SERVER#TOOL`)."""
        fields = self.engine.get(self.spelled(path, viewer) or path, viewer, exactly=True)["fields"]
        if not isinstance(fields.get("record"), dict):
            raise NotFound(f"{path!r} is not registered", "`watersmeet get` shows any document")
        from watersmeet.engine.registry.limited_tools import with_limited_tools

        with self.engine.snapshot() as snapshot:
            return with_limited_tools(snapshot, fields["record"], viewer)

    def configuration(self, path: str, viewer: Viewer | None = None) -> ServerConfiguration:
        """The ways to connect to a server, each as JSON for the settings of an MCP client, without secrets."""
        from watersmeet.present.mcp_configuration import configuration

        return configuration(self.get(path, viewer))

    def spelled(self, path: str, viewer: Viewer | None = None) -> str:
        """The registered path of an entity or tool that the viewer may see; empty if there is none.

        `/priv/`, `//priv`, `/PRIV` and `/a/../priv` are the same path."""
        server, sign, tool = path.partition("#")
        same, key = same_path(server), link_key(DocId(""), entity_path(server), "wiki")
        with self.engine.snapshot() as snapshot:
            if snapshot.only([DocId(path)], visible_to(viewer)):
                return path
            candidates = [name for name, rank in snapshot.named(key, visible_to(viewer)).items() if rank == 0]
            found = [DocId(f"{name}{sign}{tool}") for name in candidates if same_path(name) == same]
            return next(iter(sorted(snapshot.only(found, visible_to(viewer)))), "")

    # ------------------------------------------------------------ searching

    def search(self, /, request: EntityRequest | str, **options: Any) -> EntityAnswer:
        """Search entities of all kinds; the answer groups them, with their matching tools. `options` are fields of
        `EntityRequest`, such as `entity_types`, `tags` or `max_results`."""
        from watersmeet.engine.registry.requests import EntityRequest, build
        from watersmeet.engine.registry.search import search

        return search(self.engine, build(EntityRequest, request, options))

    def find_tools(self, /, task: ToolRequest | str, **options: Any) -> ToolAnswer:
        """Find the tools to call for a task; `options` are fields of `ToolRequest`, such as `intent`, `top_n` or
        `recipe`."""
        from watersmeet.engine.registry.find_tools import find_tools
        from watersmeet.engine.registry.requests import ToolRequest, build

        return find_tools(self.engine, build(ToolRequest, task, options))

    def listing(
        self,
        /,
        kind: str = "",
        query: str = "",
        viewer: Viewer | None = None,
        *,
        metadata_fields: Sequence[str] = (),
        **include: bool,
    ) -> list[Any]:
        """Records of a kind that contain the query; `include_deprecated`, `include_draft`, `include_disabled`.
        `metadata_fields`: only these of the metadata, as in `search`."""
        from watersmeet.engine.registry.listing import listing

        return listing(self.engine, kind, query, viewer, metadata_fields=metadata_fields, **include)

    def skills_search(self, q: str, viewer: Viewer | None = None) -> list[dict[str, Any]]:
        """Skills that contain the query, scored by the fields that match."""
        from watersmeet.engine.registry.listing import skills_search

        return skills_search(self.engine, q, viewer)

    def tags(self, viewer: Viewer | None = None) -> list[dict[str, Any]]:
        """All tags, each with its number of entities."""
        from watersmeet.engine.registry.listing import tags

        return tags(self.engine, viewer)
