"""Putting entities into an index, and taking them out: all of an entity at once, through the one commit point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from watersmeet.core.entities import SERVER, VIRTUAL, Entity, Refused, entity_of
from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.model import DocId
from watersmeet.engine.batch import Batch
from watersmeet.engine.entries import digest, prepare
from watersmeet.engine.registry.pages import hashes, pages, tools_in
from watersmeet.engine.registry.reading import Item, Listed
from watersmeet.engine.report import Progress, Tell
from watersmeet.engine.settings import Settings
from watersmeet.engine.writing import Writing, writing
from watersmeet.store.catalogue import Changes
from watersmeet.store.registered import claimed, contents, stored, tools_of

COLLECTION = "registry"


class Twin(NamedTuple):
    """A record that says what another one says, or claims the path of one."""

    record: str
    same_as: str
    reason: str


@dataclass(slots=True)
class Registered:
    """What came of an import. A twin of other path is registered all the same."""

    registered: int = 0
    unchanged: int = 0
    skipped: list[Refused] = field(default_factory=list)
    twins: list[Twin] = field(default_factory=list)
    warnings: list[Refused] = field(default_factory=list)
    tools: int = 0
    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    took_ms: float = 0.0

    @property
    def duplicates(self) -> int:
        return len(self.twins)

    def to_json(self) -> dict[str, Any]:
        return {
            "registered": self.registered,
            "unchanged": self.unchanged,
            "duplicates": self.duplicates,
            "skipped": [{"record": item.record, "reason": item.reason} for item in self.skipped],
            "twins": [twin._asdict() for twin in self.twins],
            "warnings": [{"record": item.record, "reason": item.reason} for item in self.warnings],
            **{name: getattr(self, name) for name in ("tools", "documents", "chunks", "embedded")},
            "took_ms": round(self.took_ms, 1),
        }


def register(
    folder: str, settings: Settings, found: Sequence[Item], report: Registered, tell: Tell, server: str = ""
) -> None:
    """Each entity under its path, with where it was read; those that are there already cost a look at their hash."""
    with writing(folder, settings) as index:
        put = _Putting(index, report)
        done = 0
        put.batch.committed = lambda _: tell(Progress("registered", done, len(found), "records"))
        tell(Progress("registered", 0, len(found), "records"))
        for done, item in enumerate(found, 1):  # noqa: B007 - the batch says how far it is when it commits
            if isinstance(item, Listed):
                item = _with_tools(index, item, server)
            if isinstance(item, Refused):
                report.skipped.append(item)
            else:
                put.offer(*item)
        put.batch.commit()
        index.compact()
        report.documents, report.chunks = index.catalogue.counts()


def _with_tools(index: Writing, listed: Listed, server: str) -> tuple[str, Entity] | Refused:
    """The server that the tools are of: the one that is registered, or a new one."""
    path = server or "/" + re.sub(r"[^\w.]+", "-", listed.name.casefold()).strip("-.")
    found = stored(index.catalogue, path)
    if found is None:
        return listed.where, Entity(SERVER, path, listed.name, tools=listed.tools)
    if found["kind"] != SERVER:
        return Refused(listed.where, f"{path} is registered, and not a server")
    return listed.where, replace(entity_of(found), tools=listed.tools)


class _Putting:
    def __init__(self, index: Writing, report: Registered) -> None:
        self.catalogue, self.report = index.catalogue, report
        self.batch = Batch(index.catalogue, index.text, index.settings.batch_chunks, index.settings.batch_seconds)
        self.collection = index.catalogue.collection(COLLECTION)
        self.said = contents(index.catalogue)
        self.seen: dict[str, str] = {}

    def offer(self, where: str, entity: Entity) -> None:
        if entity.path in self.seen:
            first = self.seen[entity.path]
            self.report.twins.append(Twin(where, first, f"{entity.path} was read before; the first is kept"))
            return
        self.seen[entity.path] = where
        hash, content = hashes(entity)
        twin = self.said.setdefault(content, entity.path)
        if twin != entity.path:
            self.report.twins.append(Twin(where, twin, f"{entity.path} says the same as {twin}"))
        owner = self.catalogue.owner(DocId(entity.path))
        taken = self._taken(entity)
        if taken:
            self.report.skipped.append(Refused(where, f"{taken!r} is already the id of another document"))
        elif owner is not None and owner[2] == hash:
            self.report.unchanged += 1
        else:
            self.put(entity, hash, content)
            self.report.registered += 1
            self.report.tools += len(entity.tools)
            self.batch.maybe_commit()

    def _taken(self, entity: Entity) -> str:
        """The id that the entity needs and something else has: a file's document, a tool, or an entity like a tool."""
        wanted = {entity.path: False, **{f"{entity.path}#{tool.name}": True for tool in tools_in(entity)}}
        for identity, is_tool in wanted.items():
            claim = claimed(self.catalogue, identity)
            if claim is not None and claim is not is_tool:
                return identity
            if is_tool and identity in self.seen:
                return identity
        return ""

    def put(self, entity: Entity, hash: bytes, content: str) -> None:
        """The entity and its tools, and no longer the tools that it had."""
        gone = set(tools_of(self.catalogue, entity.path))
        for document, chunks in pages(entity, content):
            gone.discard(document.id)
            mark = hash if document.id == entity.path else digest(hash, document.id)
            self.batch.put(document, prepare(document, chunks), mark, self.collection, None)
        for document_id in gone:
            self.batch.remove(document_id)


def restore(index: Writing, records: Sequence[Mapping[str, Any]]) -> None:
    """What was registered, into an index that has begun anew."""
    put = _Putting(index, Registered())
    for found in records:
        entity = entity_of(found)
        put.put(entity, *hashes(entity))
        put.batch.maybe_commit()
    put.batch.commit()


def change(folder: str, settings: Settings, paths: Sequence[str], changes: Mapping[str, Any]) -> int:
    """Other values for some of the entities' fields; how many that changed. All of them, or none."""
    with writing(folder, settings) as index:
        put = _Putting(index, Registered())
        changed = 0
        for path in dict.fromkeys(paths):
            before = _entity(index, path)
            after = replace(before, **changes)
            if after.status != before.status and before.kind == VIRTUAL:
                raise ConfigError(f"{path} is a virtual server: it is always active", "disable or unregister it")
            if after != before:
                put.put(after, *hashes(after))
                changed += 1
        put.batch.commit()
    return changed


def unregister(folder: str, settings: Settings, paths: Sequence[str]) -> int:
    """Forget entities with their tools; all of them, or none."""
    with writing(folder, settings) as index:
        changes = Changes()
        wanted = list(dict.fromkeys(paths))
        for path in wanted:
            _entity(index, path)
            changes.removed += [DocId(path), *tools_of(index.catalogue, path)]
        index.catalogue.apply(changes)
    return len(wanted)


def _entity(index: Writing, path: str) -> Entity:
    found = stored(index.catalogue, path)
    if found is None:
        close = get_close_matches(path, contents(index.catalogue).values(), 1)
        hint = f"did you mean {close[0]!r}?" if close else "`watersmeet list` shows what there is"
        raise NotFound(f"nothing is registered as {path!r}", hint)
    return entity_of(found)
