"""Writes of the registry: register, change and remove entities, each with its tools in one commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import reduce
from typing import Any, NamedTuple

from watersmeet.common.redaction import shown
from watersmeet.core.actor import current_actor
from watersmeet.core.entities import (
    FORM,
    LATEST,
    OFFICIAL,
    ORIGIN,
    SERVER,
    SOURCE,
    TOOL_LIST,
    VIRTUAL,
    Entity,
    Refused,
    entity_of,
    not_embedded,
    record,
)
from watersmeet.core.errors import ConfigError, NotRegistered
from watersmeet.core.index import Index
from watersmeet.core.model import DocId
from watersmeet.core.names import entity_path, same_path
from watersmeet.core.registry_records import COLLECTION, RecordChange, Records, SharedRecords, Stored
from watersmeet.core.text_fields import digest, prepare
from watersmeet.core.visibility import Viewer
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.writer import IndexWriter, open_for_writing
from watersmeet.engine.registry.documents import hashes, pages, tools_in
from watersmeet.engine.registry.limited_tools import with_hidden_tools
from watersmeet.engine.registry.record_files import Item, Listed
from watersmeet.engine.registry.review import Reviews, changes
from watersmeet.engine.registry.shared_records import ThroughRecords
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.report import Progress, ProgressCallback

KEPT = ("status", "enabled")
"""Fields set in the index that stay when the same record is read again."""
_VERSION = re.compile(r"v?(\d++(?:\.\d++)*+)(?:[-.]?([^+]*+))?(?:\+.*)?", re.IGNORECASE)
_PIECE = re.compile(r"\d+|[^\W\d_]+")

MAX_VERSION_CHARS = 256
"""A longer text is not a version."""

Key = tuple[tuple[int, ...], bool, tuple[tuple[int, str], ...]]


class Duplicate(NamedTuple):
    """A record with the content or the path of another; `path` is that of the other, if it was registered before."""

    record: str
    same_as: str
    reason: str
    path: str = ""


class Followed(NamedTuple):
    """An entity of a shared database; `source` has the values of its source record that were changed later."""

    where: str
    entity: Entity
    source: Mapping[str, Any]
    database: str = ""


@dataclass(slots=True)
class Registered:
    """The report of an import. A duplicate at another path is registered too."""

    registered: int = 0
    unchanged: int = 0
    skipped: list[Refused] = field(default_factory=list)
    twins: list[Duplicate] = field(default_factory=list)
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
            "twins": [{"record": t.record, "same_as": t.same_as, "reason": t.reason} for t in self.twins],
            "warnings": [{"record": item.record, "reason": item.reason} for item in self.warnings],
            **{name: getattr(self, name) for name in ("tools", "documents", "chunks", "embedded")},
            "took_ms": round(self.took_ms, 1),
        }


def register(
    place: Index,
    settings: Settings,
    found: Sequence[Item],
    report: Registered,
    progress: ProgressCallback,
    server: str = "",
    keep: bool = True,
    shared: SharedRecords | None = None,
    viewer: Viewer | None = None,
) -> int:
    """Register entities under their paths; unchanged ones are recognized by their hash. Returns the last row before.

    `keep`: status and enabled stay as set in the index, as long as their values in the record do not change.
    `shared`: the database that has the records; the index is up to date with it. `viewer`: who registers.
    """
    items = newest_first([item for item in found if not isinstance(item, Listed)])
    lists = _lists(found, server)
    with open_for_writing(place, settings) as index:
        put = _Registration(place, index, report, keep, shared, viewer)
        before = index.catalogue.last_row()
        refused = [item for item in items if isinstance(item, Refused)]
        report.skipped += refused
        done, total = 0, len(found) - len(refused)
        put.batch.committed = lambda _: progress(Progress("registered", done, total, "records"))
        progress(Progress("registered", 0, total, "records"))
        offered = [item for item in items if not isinstance(item, Refused | Listed)]
        for done, item in enumerate(offered, 1):  # noqa: B007 - read by the progress callback of the batch
            put.offer(*item)
        if lists:
            put.batch.commit()  # a list may belong to a server that was just read
        for done, listed in enumerate(lists, len(offered) + 1):  # noqa: B007 - as above
            tools = _with_tools(put.records, listed, server, put.origins)
            if isinstance(tools, Refused):
                report.skipped.append(tools)
            else:
                put.offer(*tools)
        put.batch.commit()
        put.compare()
        index.compact()
        report.documents, report.chunks = index.catalogue.counts()
    return before


def _lists(found: Sequence[Item], server: str) -> list[Listed]:
    """Lists of tools without a server; joined into one if the server is given."""
    lists = [item for item in found if isinstance(item, Listed)]
    return [reduce(Listed.joined, lists)] if server and lists else lists


def _with_tools(records: Records, listed: Listed, server: str, origins: dict[str, str]) -> tuple[str, Entity] | Refused:
    """The server of a list of tools: a new one, one made from such a list before, or the one named."""
    path = server or listed.path
    bare = path.strip("/")
    if server:  # with or without the slash
        path = next((name for name in (path, f"/{bare}", bare) if records.get(name)), path)
    found = records.get(path)
    if found is None:
        name = bare if server else listed.name or bare
        return listed.where, Entity(SERVER, path, name, tools=listed.tools, extra={FORM: TOOL_LIST})
    if found.record["kind"] != SERVER:
        return Refused(listed.where, f"{path} is registered and is not a server")
    existing = _as_read(found.record)
    if server:
        origins.pop(path, None)
    elif existing.extra.get(FORM) != TOOL_LIST:
        return Refused(
            listed.where, f"{path} is registered with more than tools; use --server {path} to replace its tools"
        )
    return listed.where, replace(existing, tools=listed.tools)


def _as_read(found: Mapping[str, Any]) -> Entity:
    """An entity as its record was read, without later changes in the index."""
    return replace(entity_of(found), **found.get(SOURCE, {}))


class _Registration:
    """A running registration: compares entities with the index and collects them in a batch."""

    def __init__(
        self,
        place: Index | None,
        index: IndexWriter,
        report: Registered,
        keep: bool = True,
        shared: SharedRecords | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        self.catalogue, self.report, self.keep, self.viewer = index.catalogue, report, keep, viewer
        self.batch = index.batch()
        self.batch.refused = self.refused
        self.batch.committing = self._flag
        self.reviews = Reviews(place) if place is not None else None
        self.changed: dict[str, dict[str, Any]] = {}  # descriptions, to be flagged before they are committed
        self.records = _records(index, self.batch.record, shared)
        self.collection = index.catalogue.collection(COLLECTION)
        self.origins: dict[str, str] = {}  # where each path was read
        self.contents: dict[str, str] = {}  # content hash by path
        self.spellings: dict[str, str] = {}  # registered spelling by normalized path

    def placed(self, where: str, entity: Entity) -> Entity | None:
        """The entity with its registered path; None, with the reason in the report, if that is taken."""
        same = same_path(entity.path)
        path = self.spellings.get(same) or self.catalogue.spelled(entity.path) or entity_path(entity.path)
        self.spellings[same] = path
        entity = entity if entity.path == path else replace(entity, path=path)
        if path in self.origins:
            self.report.twins.append(
                Duplicate(where, self.origins[path], f"{path} was read already; the first is kept")
            )
            return None
        self.origins[path] = where
        taken = self._taken(entity)
        if taken:
            self.report.skipped.append(Refused(where, f"{taken!r} is already the id of another document"))
            return None
        return entity

    def offer(self, where: str, offered: Entity) -> None:
        entity = self.placed(where, offered)
        if entity is None:
            return
        path = entity.path
        if self.viewer is not None and (stored := self.records.get(path)):
            entity = with_hidden_tools(entity, _as_read(stored.record), self.viewer)
        hash, content = hashes(entity)
        owner = self.catalogue.owner(DocId(path))
        if owner is not None and owner[2] == hash and self.keep:
            self.report.unchanged += 1
            self.contents[path] = content
            return
        found = self.records.get(path)
        if owner is not None and owner[2] == hash and found is not None and SOURCE not in found.record:
            self.report.unchanged += 1
        elif self.keep and found is not None and older(entity, _as_read(found.record)):
            self.report.twins.append(Duplicate(where, path, f"{path}: a newer version is registered", path))
            return
        else:
            kept = _kept(entity, found.record) if self.keep and found is not None else entity
            self.put(kept, entity, found, origin_of(where))
            self.report.registered += 1
            self.report.tools += len(tools_in(entity))
            self.batch.maybe_commit()
        self.contents[path] = content

    def follow(self, followed: Followed) -> None:
        """Take over an entity as it is in the shared database."""
        entity = self.placed(followed.where, followed.entity)
        if entity is None:
            return
        read = replace(entity, **{key: value for key, value in followed.source.items() if key in KEPT})
        owner, found = self.catalogue.owner(DocId(entity.path)), self.records.get(entity.path)
        same = owner is not None and owner[2] == hashes(read)[0]
        if same and found is not None and _without_origin(found.record) == _stored(entity, read):
            self.report.unchanged += 1
        else:
            self.put(entity, read, found, origin_of(followed.database))
            self.report.registered += 1

    def remove(self, path: str) -> bool:
        """Remove an entity with its tools; returns whether it was registered."""
        name = self.catalogue.spelled(path)
        found = self.records.get(name) if name and name not in self.origins else None
        if found is None:
            return False
        self.records.delete(name, found.version)
        for document in (DocId(name), *self.catalogue.tools_of(name)):
            self.batch.remove(document)
        return True

    def refused(self, put: Put) -> None:
        """A callback of the batch for a document whose id a file has taken meanwhile."""
        where = self.origins.get(put.document.id.partition("#")[0], put.document.id)
        self.report.skipped.append(Refused(where, f"{put.document.id!r} is already the id of another document"))

    def compare(self) -> None:
        """Report entities with equal content, after all have been read."""
        first_paths: dict[str, str] = {}
        before = self.catalogue.contents()
        for path in (path for path in before if path not in self.contents):
            first_paths.setdefault(before[path], path)
        for path, content in self.contents.items():
            twin = first_paths.setdefault(content, path)
            if twin != path:
                self.report.twins.append(
                    Duplicate(self.origins[path], twin, f"{path} has the same content as {twin}", twin)
                )

    def _taken(self, entity: Entity) -> str:
        """An id that the entity needs and that a file's document, a tool or another entity has; empty if none."""
        needed = {entity.path: False, **{f"{entity.path}#{tool.name}": True for tool in tools_in(entity)}}
        for identity, is_tool in needed.items():
            claim = self.catalogue.claimed(identity)
            if claim is not None and claim is not is_tool:
                return identity
            if is_tool and identity in self.origins:
                return identity
        return ""

    def _flag(self) -> None:
        if self.reviews is not None and self.changed:
            self.reviews.flag(self.changed)
        self.changed = {}

    def put(self, entity: Entity, read: Entity, before: Stored | None, origin: Mapping[str, Any] | None = None) -> None:
        """Write the record of an entity and the documents of it and its tools, and remove those of former tools.

        `read` is the entity as its record was read, `origin` where from; None: as before."""
        hash, content = hashes(read)
        stored = _stored(entity, read)
        if origin is None and before is not None:
            origin = before.record.get(ORIGIN)
        if before is None or _without_origin(before.record) != stored:
            stored |= {ORIGIN: dict(origin)} if origin else {}
            self.records.put(stored, before.version if before else None)
        elif ORIGIN in before.record:
            stored[ORIGIN] = before.record[ORIGIN]
        if before is not None:
            self.changed |= changes(entity_of(before.record), entity)
        gone = set(self.catalogue.tools_of(entity.path))
        for document, chunks in pages(entity, content, stored):
            gone.discard(document.id)
            own = document.id == entity.path
            mark = hash if own else digest(hash, document.id)
            prepared = prepare(document, chunks, not_embedded(entity) if own else "")
            self.batch.put(document, prepared, mark, self.collection, None)
        for document_id in gone:
            self.batch.remove(document_id)


def _stored(entity: Entity, read: Entity) -> dict[str, Any]:
    """The record of an entity, with the values of its source record where they were changed later."""
    source = {key: getattr(read, key) for key in KEPT} if read != entity else {}
    return {**record(entity), **({SOURCE: source} if source else {})}


def origin_of(where: str) -> dict[str, Any]:
    """Where a record comes from, by whom, and when."""
    by, now = current_actor().to_json(), datetime.now(UTC).isoformat(timespec="seconds")
    return {"source": shown(where) if "://" in where else where, **by, "at": now}


def _without_origin(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in stored.items() if key != ORIGIN}


def _records(
    index: IndexWriter, stage: Callable[[RecordChange], None], shared: SharedRecords | None
) -> Records | ThroughRecords:
    local = index.catalogue.records(stage)
    return ThroughRecords(shared, local) if shared is not None else local


def _kept(entity: Entity, found: Mapping[str, Any]) -> Entity:
    """An entity with status and enabled as set in the index, where the record has not changed them."""
    before = _as_read(found)
    kept = {key: found[key] for key in KEPT if getattr(entity, key) == getattr(before, key)}
    return replace(entity, **kept) if entity.kind != VIRTUAL else replace(entity, enabled=kept.get("enabled", True))


def restore(index: IndexWriter, records: Sequence[Mapping[str, Any]]) -> None:
    """Register stored records again, in an index that was recreated."""
    put = _Registration(None, index, Registered())
    for found in records:
        put.put(entity_of(found), _as_read(found), put.records.get(found["path"]), found.get(ORIGIN))
    put.batch.commit()  # at once: no other writer may get between


def follow(
    place: Index,
    settings: Settings,
    followed: Sequence[Followed],
    gone: Sequence[str],
    report: Registered,
    progress: ProgressCallback,
) -> tuple[int, int]:
    """Bring the index in line with a shared database: take over these entities, in their order, and remove those that
    are gone. Returns the last row before, and the number of removed ones."""
    with open_for_writing(place, settings) as index:
        put = _Registration(place, index, report)
        before = index.catalogue.last_row()
        done = 0
        put.batch.committed = lambda _: progress(Progress("pulled", done, len(followed), "records"))
        for done, one in enumerate(followed, 1):  # noqa: B007 - read by the progress callback of the batch
            put.follow(one)
            put.batch.maybe_commit()
        removed = sum([put.remove(path) for path in gone])
        put.batch.commit()
        index.compact()
        report.documents, report.chunks = index.catalogue.counts()
    return before, removed


def change(
    place: Index,
    settings: Settings,
    paths: Sequence[str],
    values: Mapping[str, Any],
    shared: SharedRecords | None = None,
) -> int:
    """Change fields of entities, of all or of none; returns the number of changed ones.

    In a `shared` database each changes alone: after a conflict the next pull brings those before it."""
    with open_for_writing(place, settings) as index:
        put = _Registration(place, index, Registered(), shared=shared)
        changed = 0
        for path, found in _found(index, put.records, paths).items():
            before = entity_of(found.record)
            after = replace(before, **values)
            if after.status != before.status and before.kind == VIRTUAL:
                raise ConfigError(f"{path} is a virtual server: it is always active", "disable or unregister it")
            if after != before:
                put.put(after, _as_read(found.record), found)
                changed += 1
        put.batch.commit()
    return changed


def reindex(place: Index, settings: Settings, paths: Sequence[str]) -> tuple[int, int]:
    """Make the documents of entities anew from their records; of all without paths. Returns the last row before, and
    the number of entities."""
    with open_for_writing(place, settings) as index:
        put = _Registration(None, index, Registered())
        before = index.catalogue.last_row()
        found = _found(index, put.records, paths) if paths else {one.record["path"]: one for one in put.records}
        for one in found.values():
            put.put(entity_of(one.record), _as_read(one.record), one)
            put.batch.maybe_commit()
        put.batch.commit()
        index.compact()
    return before, len(found)


def unregister(place: Index, settings: Settings, paths: Sequence[str], shared: SharedRecords | None = None) -> int:
    """Remove entities with their tools, all or none; `shared` as for `change`."""
    with open_for_writing(place, settings) as index:
        removals = Changes()
        records = _records(index, removals.records.append, shared)
        found_records = _found(index, records, paths)
        for path, found in found_records.items():
            records.delete(path, found.version)
            removals.removed += [DocId(path), *index.catalogue.tools_of(path)]
        index.catalogue.commit(removals)
    return len(found_records)


def _found(index: IndexWriter, records: Records, paths: Sequence[str]) -> dict[str, Stored]:
    """Registered records of these paths, by registered path; raises if one is missing."""
    stored: dict[str, Stored] = {}
    for path in paths:
        name = index.catalogue.spelled(path)
        found = records.get(name)
        if found is None:
            close = get_close_matches(path, index.catalogue.contents(), 1)
            hint = f"did you mean {close[0]!r}?" if close else "`watersmeet list` shows all documents"
            raise NotRegistered(f"nothing is registered as {path!r}", hint)
        stored[name] = found
    return stored


def older(entity: Entity, other: Entity) -> bool:
    """Whether both are versions of a server of the official registry, and the first is the older one."""
    if entity.extra.get(FORM) != OFFICIAL or other.extra.get(FORM) != OFFICIAL:
        return False
    latest, was_latest = entity.extra.get(LATEST), other.extra.get(LATEST)
    versions = [version(str(each.extra.get("version", ""))) for each in (entity, other)]
    if latest is not None and was_latest is not None and latest is not was_latest:
        return bool(was_latest)
    return versions[0] is not None and versions[1] is not None and versions[0] < versions[1]


def version(text: str) -> Key | None:
    """A sort key of a version; one with a suffix comes before the one without. None if the text is not a version."""
    found = _VERSION.fullmatch(text.strip()) if len(text) <= MAX_VERSION_CHARS else None
    if found is None:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    pieces = _PIECE.findall(found[2] or "")
    return tuple(numbers), not pieces, tuple((int(p), "") if p.isdecimal() else (-1, p.casefold()) for p in pieces)


def newest_first(found: Sequence[Item]) -> list[Item]:
    """Items with the newest of several versions of a server at the place of the first."""
    order = list(found)
    first: dict[str, int] = {}
    for place, item in enumerate(order):
        if isinstance(item, Refused | Listed) or item[1].extra.get(FORM) != OFFICIAL:
            continue
        before = first.setdefault(item[1].path, place)
        earlier = order[before]
        if not isinstance(earlier, Refused | Listed) and older(earlier[1], item[1]):
            order[before], order[place] = item, earlier
    return order
