"""Putting entities into an index, and taking them out: all of an entity at once, through the one commit point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import reduce
from typing import Any, NamedTuple

from watersmeet.core.entities import (
    FORM,
    LATEST,
    OFFICIAL,
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
from watersmeet.core.registry_records import Records, Stored
from watersmeet.core.text_fields import digest, prepare
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.writer import IndexWriter, open_for_writing
from watersmeet.engine.registry.documents import hashes, pages, tools_in
from watersmeet.engine.registry.record_files import Item, Listed
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.report import Progress, ProgressCallback

COLLECTION = "registry"
KEPT = ("status", "enabled")
"""What is set here, whatever the record says when it is read again."""
_VERSION = re.compile(r"v?(\d++(?:\.\d++)*+)(?:[-.]?([^+]*+))?(?:\+.*)?", re.IGNORECASE)
_PIECE = re.compile(r"\d+|[^\W\d_]+")

LONGEST = 256
"""A longer text is no version."""

Key = tuple[tuple[int, ...], bool, tuple[tuple[int, str], ...]]


class Duplicate(NamedTuple):
    """A record that says what another one says, or claims the path of one; `path` is that one's, if it was there."""

    record: str
    same_as: str
    reason: str
    path: str = ""


@dataclass(slots=True)
class Registered:
    """What came of an import. A twin of other path is registered all the same."""

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
) -> int:
    """Each entity under its path, with where it was read; those that are there already cost a look at their hash.
    Returns the last row that there was before.

    `keep`: status and enabled stay as they were set here, as long as the records say of them what they said before.
    """
    items = newest_first([item for item in found if not isinstance(item, Listed)])
    lists = _lists(found, server)
    with open_for_writing(place, settings) as index:
        put = _Putting(index, report, keep)
        before = index.catalogue.last_row()
        refused = [item for item in items if isinstance(item, Refused)]
        report.skipped += refused
        done, total = 0, len(found) - len(refused)
        put.batch.committed = lambda _: progress(Progress("registered", done, total, "records"))
        progress(Progress("registered", 0, total, "records"))
        offered = [item for item in items if not isinstance(item, Refused | Listed)]
        for done, item in enumerate(offered, 1):  # noqa: B007 - the batch says how far it is when it commits
            put.offer(*item)
        if lists:
            put.batch.commit()  # a list may be of a server that was read just now
        for done, listed in enumerate(lists, len(offered) + 1):  # noqa: B007 - as above
            tools = _with_tools(put.records, listed, server, put.seen)
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
    """Tools of nobody; all of them in one list if it is said whose they are."""
    lists = [item for item in found if isinstance(item, Listed)]
    return [reduce(Listed.joined, lists)] if server and lists else lists


def _with_tools(records: Records, listed: Listed, server: str, seen: dict[str, str]) -> tuple[str, Entity] | Refused:
    """The server that the tools are of: a new one, one that was made from such a list, or the one that was named."""
    path = server or listed.path
    bare = path.strip("/")
    if server:  # with or without the slash, if there is such a one
        path = next((name for name in (path, f"/{bare}", bare) if records.get(name)), path)
    found = records.get(path)
    if found is None:
        name = bare if server else listed.name or bare
        return listed.where, Entity(SERVER, path, name, tools=listed.tools, extra={FORM: TOOL_LIST})
    if found.record["kind"] != SERVER:
        return Refused(listed.where, f"{path} is registered, and not a server")
    known = _as_read(found.record)
    if server:
        seen.pop(path, None)
    elif known.extra.get(FORM) != TOOL_LIST:
        return Refused(listed.where, f"{path} is registered with more than tools; say --server {path} to replace them")
    return listed.where, replace(known, tools=listed.tools)


def _as_read(found: Mapping[str, Any]) -> Entity:
    """An entity as its record has it, whatever was changed since."""
    return replace(entity_of(found), **found.get(SOURCE, {}))


class _Putting:
    def __init__(self, index: IndexWriter, report: Registered, keep: bool = True) -> None:
        self.catalogue, self.report, self.keep = index.catalogue, report, keep
        self.batch = index.batch()
        self.batch.refused = self.refused
        self.records: Records = index.catalogue.records(self.batch.record)
        self.collection = index.catalogue.collection(COLLECTION)
        self.seen: dict[str, str] = {}
        self.said: dict[str, str] = {}  # what each of these paths says now
        self.written: dict[str, str] = {}  # how each of these paths is written

    def offer(self, where: str, entity: Entity) -> None:
        same = same_path(entity.path)
        path = self.written.get(same) or self.catalogue.spelled(entity.path) or entity_path(entity.path)
        self.written[same] = path
        entity = entity if entity.path == path else replace(entity, path=path)
        if path in self.seen:
            self.report.twins.append(Duplicate(where, self.seen[path], f"{path} was read before; the first is kept"))
            return
        self.seen[path] = where
        hash, content = hashes(entity)
        owner = self.catalogue.owner(DocId(path))
        taken = self._taken(entity)
        if taken:
            self.report.skipped.append(Refused(where, f"{taken!r} is already the id of another document"))
            return
        if owner is not None and owner[2] == hash and self.keep:
            self.report.unchanged += 1
            self.said[path] = content
            return
        found = self.records.get(path)
        if owner is not None and owner[2] == hash and found is not None and SOURCE not in found.record:
            self.report.unchanged += 1
        elif self.keep and found is not None and older(entity, _as_read(found.record)):
            self.report.twins.append(Duplicate(where, path, f"{path}: a newer version is registered", path))
            return
        else:
            self.put(_kept(entity, found.record) if self.keep and found is not None else entity, entity, found)
            self.report.registered += 1
            self.report.tools += len(tools_in(entity))
            self.batch.maybe_commit()
        self.said[path] = content

    def refused(self, put: Put) -> None:
        """The batch calls this for a document whose id a file has taken meanwhile."""
        where = self.seen.get(put.document.id.partition("#")[0], put.document.id)
        self.report.skipped.append(Refused(where, f"{put.document.id!r} is already the id of another document"))

    def compare(self) -> None:
        """Report who says what another one says, now that all have said it."""
        holders: dict[str, str] = {}
        before = self.catalogue.contents()
        for path in (path for path in before if path not in self.said):
            holders.setdefault(before[path], path)
        for path, content in self.said.items():
            twin = holders.setdefault(content, path)
            if twin != path:
                self.report.twins.append(Duplicate(self.seen[path], twin, f"{path} says the same as {twin}", twin))

    def _taken(self, entity: Entity) -> str:
        """The id that the entity needs and something else has: a file's document, a tool, or an entity like a tool."""
        wanted = {entity.path: False, **{f"{entity.path}#{tool.name}": True for tool in tools_in(entity)}}
        for identity, is_tool in wanted.items():
            claim = self.catalogue.claimed(identity)
            if claim is not None and claim is not is_tool:
                return identity
            if is_tool and identity in self.seen:
                return identity
        return ""

    def put(self, entity: Entity, read: Entity, before: Stored | None) -> None:
        """The entity's record in place of the one before, the documents of it and of its tools, and no longer those of
        the tools that it had; `read` is how its record was read."""
        hash, content = hashes(read)
        source = {key: getattr(read, key) for key in KEPT} if read != entity else {}
        said = {**record(entity), **({SOURCE: source} if source else {})}
        if before is None or before.record != said:
            self.records.put(said, before.version if before else None)
        gone = set(self.catalogue.tools_of(entity.path))
        for document, chunks in pages(entity, content, source):
            gone.discard(document.id)
            own = document.id == entity.path
            mark = hash if own else digest(hash, document.id)
            prepared = prepare(document, chunks, not_embedded(entity) if own else "")
            self.batch.put(document, prepared, mark, self.collection, None)
        for document_id in gone:
            self.batch.remove(document_id)


def _kept(entity: Entity, found: Mapping[str, Any]) -> Entity:
    """An entity as it was set here where its record says what it said when it was last read."""
    before = _as_read(found)
    same = {key: found[key] for key in KEPT if getattr(entity, key) == getattr(before, key)}
    return replace(entity, **same) if entity.kind != VIRTUAL else replace(entity, enabled=same.get("enabled", True))


def restore(index: IndexWriter, records: Sequence[Mapping[str, Any]]) -> None:
    """What was registered, into an index that has begun anew."""
    put = _Putting(index, Registered())
    for found in records:
        put.put(entity_of(found), _as_read(found), put.records.get(found["path"]))
    put.batch.commit()  # at once: nobody has a turn before all of it is there


def change(place: Index, settings: Settings, paths: Sequence[str], changes: Mapping[str, Any]) -> int:
    """Other values for some of the entities' fields; how many that changed. All of them, or none."""
    with open_for_writing(place, settings) as index:
        put = _Putting(index, Registered())
        changed = 0
        for path, found in _found(index, put.records, paths).items():
            before = entity_of(found.record)
            after = replace(before, **changes)
            if after.status != before.status and before.kind == VIRTUAL:
                raise ConfigError(f"{path} is a virtual server: it is always active", "disable or unregister it")
            if after != before:
                put.put(after, _as_read(found.record), found)
                changed += 1
        put.batch.commit()
    return changed


def unregister(place: Index, settings: Settings, paths: Sequence[str]) -> int:
    """Forget entities with their tools; all of them, or none."""
    with open_for_writing(place, settings) as index:
        changes = Changes()
        records = index.catalogue.records(changes.records.append)
        wanted = _found(index, records, paths)
        for path, found in wanted.items():
            records.delete(path, found.version)
            changes.removed += [DocId(path), *index.catalogue.tools_of(path)]
        index.catalogue.commit(changes)
    return len(wanted)


def _found(index: IndexWriter, records: Records, paths: Sequence[str]) -> dict[str, Stored]:
    """What is registered under these paths, by its own."""
    known: dict[str, Stored] = {}
    for path in paths:
        name = index.catalogue.spelled(path)
        found = records.get(name)
        if found is None:
            close = get_close_matches(path, index.catalogue.contents(), 1)
            hint = f"did you mean {close[0]!r}?" if close else "`watersmeet list` shows what there is"
            raise NotRegistered(f"nothing is registered as {path!r}", hint)
        known[name] = found
    return known


def older(entity: Entity, known: Entity) -> bool:
    """Whether both are versions of a server in the official registry, and the first is not as new as the second."""
    if entity.extra.get(FORM) != OFFICIAL or known.extra.get(FORM) != OFFICIAL:
        return False
    latest, was_latest = entity.extra.get(LATEST), known.extra.get(LATEST)
    versions = [version(str(each.extra.get("version", ""))) for each in (entity, known)]
    if latest is not None and was_latest is not None and latest is not was_latest:
        return bool(was_latest)
    return versions[0] is not None and versions[1] is not None and versions[0] < versions[1]


def version(text: str) -> Key | None:
    """Something to compare; a version with a suffix comes before the one without."""
    found = _VERSION.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if found is None:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    pieces = _PIECE.findall(found[2] or "")
    return tuple(numbers), not pieces, tuple((int(p), "") if p.isdecimal() else (-1, p.casefold()) for p in pieces)


def newest_first(found: Sequence[Item]) -> list[Item]:
    """The newest of several versions takes the place of the first that was read."""
    order = list(found)
    first: dict[str, int] = {}
    for place, item in enumerate(order):
        if isinstance(item, Refused | Listed) or item[1].extra.get(FORM) != OFFICIAL:
            continue
        before = first.setdefault(item[1].path, place)
        known = order[before]
        if not isinstance(known, Refused | Listed) and older(known[1], item[1]):
            order[before], order[place] = item, known
    return order
