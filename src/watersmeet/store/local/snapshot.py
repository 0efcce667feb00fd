"""A snapshot of an index in a folder: the catalogue, and the other stores as it needs them.

The other stores may be ahead of the catalogue or hold dead rows, but they never lack a live one. So their results are
looked up in the catalogue, and caches belong to one snapshot of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import IndexDamaged, NoIndex, WatersmeetError
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, Tier, Unseen
from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.ports import Entities, Links, TextReader, TextStore, Words
from watersmeet.core.visibility import AUDIENCE_GATE, PUBLIC, Audience
from watersmeet.store.local._audiences import audiences, former
from watersmeet.store.local._connect import FILE, FORMAT, is_read_only, read_only_mode
from watersmeet.store.local._counts import CHUNKS, UNSEEN
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.live_words import LiveWords

if TYPE_CHECKING:
    from watersmeet.core.index import Vectors

SPARSE = "sparse"
"""The tier of weighted terms; the others have vectors."""
Make = Callable[[str], Callable[..., Any]]
"""Gives the constructor of a store by name: tantivy, vectors, ..."""
Gates = tuple[tuple[str, tuple[str, ...]], ...]
MAX_VIEWERS = 32
"""How many viewers' ports and readers are cached."""


class LocalSnapshot(DocumentsView):
    """The `Snapshot` port, used by one query at a time and shared by its threads."""

    def __init__(self, folder: str, make: Make) -> None:
        self.last_used = 0.0
        self._opened_file = _file_identity(folder)
        super().__init__(folder)
        self._make = make
        self._facts: dict[str, str] = {}
        self._facts_version: object = None
        self._store: TextStore | None = None
        self._text: TextReader | None = None
        self._tiers: dict[str, Tier] = {}
        self._expected: frozenset[str] = frozenset()
        self._stores: dict[str, tuple[str, Any]] = {}
        self._readers: dict[tuple[str, Gates], Any] = {}
        self._ports: dict[tuple[str, Gates], Any] = {}

    def close(self) -> None:
        self._close_text()
        for _, store in self._stores.values():
            store.close()
        self._stores.clear()
        super().close()

    def current(self) -> bool:
        """False once the index was deleted or replaced, so that this has the old files open."""
        return self._opened_file == _file_identity(self._folder)

    @contextmanager
    def transaction(self) -> Iterator[LocalSnapshot]:
        with super().transaction():
            if self.version != self._facts_version:
                self._renew()
            yield self

    def _renew(self) -> None:
        facts = self.meta()
        if facts.get("text_folder") != self._facts.get("text_folder"):
            self._close_text()
        self._facts = facts
        self._readers = {}
        tier_facts = [json.loads(facts.get(key, "{}")) for key in (CURRENT_TIERS, NEXT_TIERS)]
        self._expected = frozenset(tier["folder"] for tiers in tier_facts for tier in tiers.values())
        self._tiers = {name: Tier(**entry) for name, entry in json.loads(facts.get(CURRENT_TIERS, "{}")).items()}
        built = json.loads(facts.get("fingerprint", "{}"))
        self._text = self._open_text(built["text"], facts["text_folder"]) if built else None
        self._facts_version = self.version

    def _open_text(self, kind: str, text_folder: str) -> TextReader:
        if self._store is None:
            self._store = self._make(kind)(folder=os.path.join(self._folder, text_folder))
        reader: TextReader = self._store.reader()
        if not reader.size and self.shared():
            raise IndexDamaged(
                f"the text store of {self._folder} is missing or empty", "`watersmeet sync PATH` rebuilds it"
            )
        return reader

    def _close_text(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None

    # ------------------------------------------------------------ facts about the index

    @property
    def generation(self) -> str:
        return self._facts.get("text_folder", "")

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def tiers(self) -> Mapping[str, Tier]:
        return self._tiers

    def collection_audiences(self) -> Mapping[str, Audience]:
        return audiences(self._facts)

    def former_collections(self) -> Mapping[str, str]:
        names = former(self._facts)
        found = self.query("SELECT path, name FROM former_roots") if names else []
        return {self.paths.on_disk(path): names[name] for path, name in found if name in names}

    @property
    def outdated(self) -> bool:
        return self.format < FORMAT

    @property
    def public_text(self) -> bool:
        """Whether the text store never had a private row; False for an older index, where it is unknown."""
        return self._facts.get(PUBLIC_TEXT) == self._facts.get("text_folder")

    # ------------------------------------------------------------ words, links, entities

    def text(self) -> TextReader:
        if self._text is None:
            raise NoIndex(f"nothing was ever put into {self._folder}", "fill it with `watersmeet sync PATH`")
        return self._text

    def words(self, visible: Condition) -> Words | None:
        return None if self._text is None else self._port("words", visible, lambda: LiveWords(self, visible))

    def links(self, visible: Condition) -> Links:
        from watersmeet.store.local.graph import LiveLinks

        links: Links = self._port("links", visible, lambda: LiveLinks(self, visible))
        return links

    def entities(self, visible: Condition) -> Entities:
        from watersmeet.store.local.entities import LiveEntities

        if self._text is None:
            raise NoIndex(f"nothing was ever put into {self._folder}", "fill it with `watersmeet register FILE`")
        entities: Entities = self._port("entities", visible, lambda: LiveEntities(self, visible))
        return entities

    def _port(self, name: str, visible: Condition, make: Callable[[], Any]) -> Any:
        key = (name, tuple(visible.gates.items()))
        if key not in self._ports:
            if len(self._ports) >= 4 * MAX_VIEWERS:
                self._ports.clear()
            self._ports[key] = make()
        return self._ports[key]

    # ------------------------------------------------------------ vectors

    def vectors(self, tier: Tier, visible: Condition) -> Vectors:
        from watersmeet.store.local.live_vectors import LiveVectors

        self.reader(tier, visible)
        vectors: Vectors = self._port(tier.folder, visible, lambda: LiveVectors(self, tier, visible))
        return vectors

    def reader(self, tier: Tier, visible: Condition) -> Any:
        """The reader of a tier's store in this snapshot; raises if it cannot be read. Errors are cached too."""
        key = (tier.folder, tuple(visible.gates.items()) if tier.name == SPARSE else ())
        readers = self._readers  # a late thread must not fill the next snapshot's cache
        if key not in readers:
            if len(readers) >= MAX_VIEWERS:
                readers.clear()
            found: Any
            try:
                found = self._open_reader(tier, visible)
            except WatersmeetError as problem:
                found = problem
            readers[key] = found
        else:
            found = readers[key]
        if isinstance(found, WatersmeetError):
            raise found.with_traceback(None)  # else the traceback keeps frames alive
        return found

    def _open_reader(self, tier: Tier, visible: Condition) -> Any:
        check_vectors_exist(tier, self._folder)
        opened = self._stores.get(tier.name)
        if opened is None or opened[0] != tier.folder:
            if opened is not None:
                opened[1].close()
            self._stores[tier.name] = opened = (tier.folder, store_of(tier, self._folder, self._make))
        reader = opened[1].reader()
        return reader.without(self._hidden_rows(visible)) if tier.name == SPARSE and visible.gates else reader

    def _hidden_rows(self, visible: Condition) -> list[Row]:
        """The private rows hidden from a viewer."""
        must, values = self.where(visible)
        found = self.query(
            "SELECT DISTINCT c.row FROM facets f JOIN documents d ON d.id = f.document"
            f" JOIN chunks c ON c.document = d.id WHERE f.key = ? AND f.value <> ? AND NOT ({must})",
            [AUDIENCE_GATE, PUBLIC, *values],
        )
        return [row for (row,) in found]

    def coverage(self, tier: Tier, visible: Condition = ANY) -> float:
        """The embedded share of visible rows; 1.0 if the store cannot be read, so that a query reports why."""
        try:
            self.reader(tier, visible)
        except WatersmeetError:
            return 1.0
        return self.embedded_share(tier.folder, tier.rows, visible)

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        table, which = ("unseen", [tier.folder]) if tier.folder in self._expected else ("chunks", [])
        store = "store = ? AND " if which else ""  # a store not registered yet has no rows
        found: dict[Row, Unseen] = {}
        if first:
            rows = self.rows(first)
            listed = json.dumps([rows[chunk] for chunk in first if chunk in rows])
            sql = f"SELECT row FROM json_each(?) j JOIN {table} u ON {store}u.row = j.value WHERE u.row > ?"
            numbers = [row for (row,) in self.query(sql, [listed, *which, after])][:limit]
            found = {one[0]: Unseen(*one) for one in self.texts(numbers)}
        sql = f"SELECT row FROM {table} WHERE {store}row > ? ORDER BY row LIMIT ?"
        while len(found) < limit:  # some rows may be damaged and left out
            numbers = [row for (row,) in self.query(sql, [*which, after, limit])]
            if not numbers:
                break
            found |= {one[0]: Unseen(*one) for one in self.texts(numbers)}
            after = numbers[-1]
        return list(found.values())[:limit]

    def left(self, tier: Tier, after: int = 0) -> int:
        """The number of rows still to embed."""
        if not after:
            counts = self.counts()
            return counts.get(UNSEEN + tier.folder, 0) if tier.folder in self._expected else counts.get(CHUNKS, 0)
        if tier.folder not in self._expected:
            return self.added_since(after)
        ((count,),) = self.query("SELECT count(*) FROM unseen WHERE store = ? AND row > ?", [tier.folder, after])
        return int(count)


def store_of(tier: Tier, index: str, make: Make) -> Any:
    """The store of a tier's vectors."""
    kind = "postings" if tier.name == SPARSE else "vectors"
    return make(kind)(folder=os.path.join(index, tier.folder), dimension=tier.dimension)


def check_vectors_exist(tier: Tier, index: str) -> None:
    """Raises if a tier's commit file is missing: without it a store looks empty."""
    from watersmeet.store.local._file_commits import COMMIT  # loaded only for vectors

    size = 0
    with suppress(OSError):
        size = os.path.getsize(os.path.join(index, tier.folder, COMMIT))
    if tier.rows and not size:
        raise IndexDamaged(f"the {tier.name} vectors of {index} are missing", "`watersmeet sync` makes them again")


def _file_identity(folder: str) -> tuple[object, ...] | None:
    """Identity of the catalogue's file, to notice that it was replaced."""
    path = os.path.join(folder, FILE)
    try:
        found = os.stat(path)
    except OSError:
        return None
    if is_read_only(folder):  # opened as immutable: notice changes by another user
        return found.st_dev, found.st_ino, found.st_mtime_ns, read_only_mode(path)
    return found.st_dev, found.st_ino
