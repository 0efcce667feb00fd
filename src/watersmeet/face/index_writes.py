"""Changes of the index through a server: what a caller may name, and what the reports tell it."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, CostRefused, NotFound
from watersmeet.core.model import DocId
from watersmeet.core.options import option
from watersmeet.core.system import is_within, trimmed
from watersmeet.engine.query.visibility import hidden_collections, hidden_roots, visible_to
from watersmeet.engine.sync.sources import Sources
from watersmeet.face.tokens import Caller

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import ProgressCallback, SyncReport


STRANGER = Caller()


@dataclass(frozen=True, slots=True)
class SyncParams:
    """A sync through a server."""

    paths: tuple[str, ...] = option(
        (), "folders, files or addresses; none: everything that is indexed", brief="none: all that is indexed"
    )
    now: bool = option(False, "without paths, also read websites and other network roots that were read recently")
    dry_run: bool = option(
        False, "write nothing; report what would be added, changed and removed", brief="only report, write nothing"
    )
    confirm: bool = option(
        False,
        "embed with a model on another machine even if that costs more than index.confirm_above",
        brief="spend more than the limit",
    )


def sync(
    engine: Engine, params: SyncParams, anywhere: bool, progress: ProgressCallback, caller: Caller = STRANGER
) -> dict[str, Any]:
    """Bring the index up to date. Unless `anywhere`, as for the user who started the server, a caller may only name
    paths in folders that are indexed already. Nobody may name an address that is not indexed: an agent does what the
    documents tell it that it reads, and an address can carry what it has read. For the same reason no private address
    is opened."""
    if any("\0" in path for path in params.paths):
        raise ConfigError("a path cannot hold a NUL character", "name the folders to index in `paths`")
    hidden = _hidden_places(engine, caller)
    covered = engine.index.root_places() if (params.paths or hidden) and engine.index.exists() else []
    roots = [root for root in covered if root not in hidden]
    sources = Sources(engine.settings)
    allowed = [
        path if anywhere and sources.kind_of(path) == sources.of_paths else _in_a_root(path, roots, hidden, sources)
        for path in params.paths
    ]
    if hidden and not allowed:  # all that the caller may see, as if there were no more
        allowed = roots
        if not allowed:
            raise ConfigError("this index covers no folder", "name what to index: `watersmeet sync PATH`")
    try:
        report = engine.sync(
            allowed,
            now=params.now,
            public_only=True,
            dry_run=params.dry_run,
            confirm=params.confirm,
            progress=progress,
        )
    except CostRefused as refused:
        if hidden:  # it counts what the caller may not see
            raise CostRefused("embedding costs more than index.confirm_above", refused.hint) from None
        raise
    return _for_caller(engine, report, caller, hidden)


def _hidden_places(engine: Engine, caller: Caller) -> set[str]:
    """Where documents come from, or came from, that are in collections which the caller may not see."""
    if caller.viewer.all or not engine.index.exists():
        return set()
    with engine.snapshot() as snapshot:
        hidden = hidden_collections(snapshot, caller.viewer)
        if not hidden:
            return set()
        present = hidden_roots(snapshot, caller.viewer)
        return {*present} | {place for place, name in snapshot.former_collections().items() if name in hidden}


def _in_a_root(path: str, roots: Sequence[str], hidden: Collection[str], sources: Sources) -> str:
    """A root as the index names it, or the absolute path of something in one, which cannot be mistaken for a URL. One
    that is hidden from the caller is treated as if it were not in the index."""
    if sources.kind_of(path) != sources.of_paths and (place := sources.locate(path)[1].uri) in roots:
        return place
    real = os.path.realpath(path)
    if any(is_within(real, place) for place in hidden):
        raise _in_no_folder()
    folders = [os.path.realpath(root) for root in roots if os.path.isabs(root)]
    if path in roots:
        return path
    if any(is_within(real, root) for root in folders):
        return real
    if sources.kind_of(path) != sources.of_paths:
        raise ConfigError("an address is not in this index", "run `watersmeet sync ADDRESS` on the server to add it")
    raise _in_no_folder()


def _in_no_folder() -> ConfigError:
    return ConfigError("a path is in no folder of this index", "run `watersmeet sync PATH` on the server to add it")


def _for_caller(engine: Engine, report: SyncReport, caller: Caller, hidden: Collection[str]) -> dict[str, Any]:
    """The report without documents that the caller may not see, and for another machine without local paths."""
    if hidden:
        with engine.snapshot() as snapshot:
            seen = snapshot.statistics(visible_to(caller.viewer))
        for listed in (report.skipped, report.warnings, report.notes):
            listed[:] = [one for one in listed if not any(place in f"{one.path} {one.reason}" for place in hidden)]
        report = replace(report, documents=seen.documents, chunks=seen.chunks, cost=None)
    if report.planned and not caller.viewer.all:
        with engine.snapshot() as snapshot:
            visible = snapshot.only([one.document for one in report.planned], visible_to(caller.viewer))
        shown = [
            one
            for one in report.planned
            if one.document in visible or (one.action in ("added", "moved") and not one.restricted)
        ]
        report = replace(report, planned=shown)
    made = report.to_json()
    if not caller.is_local:
        names = (
            {trimmed(one["root"]): one["name"] for one in engine.status()["sources"]} if engine.index.exists() else {}
        )
        for item in (*made["skipped"], *made["warnings"], *made["notes"]):
            for root in sorted(names, key=len, reverse=True):
                item["path"] = item["path"].replace(root, names[root])
                item["reason"] = item["reason"].replace(root, names[root])
        made["fresh"] = [names.get(trimmed(root), root) for root in made.get("fresh", ())]
    return made


def remove(engine: Engine, ids: Sequence[str], caller: Caller, dry_run: bool = False) -> dict[str, Any]:
    """Remove documents by id, and roots by name or path, if the caller may see them."""
    seen = {one["name"]: one["documents"] for one in engine.status(caller.viewer)["sources"]}
    sources = {one["name"]: one for one in engine.status()["sources"] if one["name"] in seen}
    named, documents = [], 0
    for identity in dict.fromkeys(ids):
        root = next((one for one in sources.values() if identity in _names(one, caller)), None)
        if root is None:
            _check_document(engine, identity, caller)
        else:
            _check_root(root, seen[root["name"]], caller)
        named.append(identity if root is None else root["root"])
        documents += 1 if root is None else root["documents"]
    return {"removed": documents, "dry_run": True} if dry_run else {"removed": engine.remove(named)}


def _names(source: dict[str, Any], caller: Caller) -> set[str]:
    """What a caller may call a root: on another machine, nothing that is a local path."""
    return {source["name"], *((source["root"], trimmed(source["root"])) if caller.is_local else ())}


def _check_document(engine: Engine, identity: str, caller: Caller) -> None:
    """Raise unless there is a document of this id that the caller may see."""
    if "\0" not in identity:
        with engine.snapshot() as snapshot:
            if snapshot.only([DocId(identity)], visible_to(caller.viewer)):
                return
    raise NotFound(
        f"no document or root called {identity[:200]!r}", "`status` lists the roots, `search` finds documents"
    )


def _check_root(source: dict[str, Any], seen: int, caller: Caller) -> None:
    """Raise if a root holds documents that the caller may not see."""
    if not caller.viewer.all and seen < source["documents"]:
        raise ConfigError(f"{source['name']} holds documents that are not yours", "remove the others one by one")
