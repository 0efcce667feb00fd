"""One moment of an index in a folder: the catalogue first, the other stores as that moment needs them.

The other stores may be ahead of the catalogue or hold dead rows; they never lack a live one. So whatever they offer is
looked up in the catalogue, and whatever is remembered belongs to one moment of it.
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
from watersmeet.core.visibility import AUDIENCE_GATE, PUBLIC
from watersmeet.store.local._connect import FILE, FORMAT, is_read_only, still
from watersmeet.store.local._counts import CHUNKS, UNSEEN
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.live_words import LiveWords

if TYPE_CHECKING:
    from watersmeet.core.index import Vectors

SPARSE = "sparse"
"""The tier of weighted terms, where the others have vectors."""
Make = Callable[[str], Callable[..., Any]]
"""How a store of this name is opened: tantivy, vectors, ..."""
Gates = tuple[tuple[str, tuple[str, ...]], ...]
MOST_VIEWERS = 32
"""The ports of so many viewers are kept at a time."""


class LocalSnapshot(DocumentsView):
    """The `Snapshot` port. A query has it to itself; the threads of that query share it."""

    def __init__(self, folder: str, make: Make) -> None:
        self.last_used = 0.0
        self._opened_file = _on_disk(folder)
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
        self._forget_text()
        for _, store in self._stores.values():
            store.close()
        self._stores.clear()
        super().close()

    def current(self) -> bool:
        """False once the index was deleted or put in place anew: what is open here is the old one."""
        return self._opened_file == _on_disk(self._folder)

    @contextmanager
    def transaction(self) -> Iterator[LocalSnapshot]:
        with super().transaction():
            if self.version != self._facts_version:
                self._renew()
            yield self

    def _renew(self) -> None:
        facts = self.meta()
        if facts.get("text_folder") != self._facts.get("text_folder"):
            self._forget_text()
        self._facts = facts
        self._readers = {}
        named = [json.loads(facts.get(key, "{}")) for key in (CURRENT_TIERS, NEXT_TIERS)]
        self._expected = frozenset(tier["folder"] for tiers in named for tier in tiers.values())
        self._tiers = {name: Tier(**found) for name, found in json.loads(facts.get(CURRENT_TIERS, "{}")).items()}
        built = json.loads(facts.get("fingerprint", "{}"))
        self._text = self._open_text(built["text"], facts["text_folder"]) if built else None
        self._facts_version = self.version

    def _open_text(self, kind: str, text_folder: str) -> TextReader:
        if self._store is None:
            self._store = self._make(kind)(folder=os.path.join(self._folder, text_folder))
        reader: TextReader = self._store.reader()
        if not reader.size and self.shared():
            raise IndexDamaged(f"the words of {self._folder} are lost", "`watersmeet sync PATH` makes them again")
        return reader

    def _forget_text(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None

    # ------------------------------------------------------------ what the index says of itself

    @property
    def generation(self) -> str:
        return self._facts.get("text_folder", "")

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def tiers(self) -> Mapping[str, Tier]:
        return self._tiers

    @property
    def outdated(self) -> bool:
        return self.format < FORMAT

    @property
    def public_text(self) -> bool:
        """Whether the text store never held a row that not everyone may see; of an older index that is not known."""
        return self._facts.get(PUBLIC_TEXT) == self._facts.get("text_folder")

    # ------------------------------------------------------------ words, links, entities

    def text(self) -> TextReader:
        if self._text is None:
            raise NoIndex(f"nothing was ever put into {self._folder}", "fill it with `watersmeet sync PATH`")
        return self._text

    def words(self, seen: Condition) -> Words | None:
        return None if self._text is None else self._port("words", seen, lambda: LiveWords(self, seen))

    def links(self, seen: Condition) -> Links:
        from watersmeet.store.local.graph import LiveLinks

        links: Links = self._port("links", seen, lambda: LiveLinks(self, seen))
        return links

    def entities(self, seen: Condition) -> Entities:
        from watersmeet.store.local.entities import LiveEntities

        if self._text is None:
            raise NoIndex(f"nothing was ever put into {self._folder}", "fill it with `watersmeet register FILE`")
        entities: Entities = self._port("entities", seen, lambda: LiveEntities(self, seen))
        return entities

    def _port(self, name: str, seen: Condition, make: Callable[[], Any]) -> Any:
        key = (name, tuple(seen.gates.items()))
        if key not in self._ports:
            if len(self._ports) >= 4 * MOST_VIEWERS:
                self._ports.clear()
            self._ports[key] = make()
        return self._ports[key]

    # ------------------------------------------------------------ vectors

    def vectors(self, tier: Tier, seen: Condition) -> Vectors:
        from watersmeet.store.local.live_vectors import LiveVectors

        self.reader(tier, seen)
        vectors: Vectors = self._port(tier.folder, seen, lambda: LiveVectors(self, tier, seen))
        return vectors

    def reader(self, tier: Tier, seen: Condition) -> Any:
        """The files of a tier as of this moment, or why they cannot be read."""
        key = (tier.folder, tuple(seen.gates.items()) if tier.name == SPARSE else ())
        readers = self._readers  # what comes late is of the moment in which it began
        if key not in readers:
            if len(readers) >= MOST_VIEWERS:
                readers.clear()
            found: Any
            try:
                found = self._opened(tier, seen)
            except WatersmeetError as problem:
                found = problem
            readers[key] = found
        else:
            found = readers[key]
        if isinstance(found, WatersmeetError):
            raise found.with_traceback(None)  # or all that ever raised it is kept
        return found

    def _opened(self, tier: Tier, seen: Condition) -> Any:
        check_there(tier, self._folder)
        known = self._stores.get(tier.name)
        if known is None or known[0] != tier.folder:
            if known is not None:
                known[1].close()
            self._stores[tier.name] = known = (tier.folder, store_of(tier, self._folder, self._make))
        reader = known[1].reader()
        return reader.without(self._kept_from(seen)) if tier.name == SPARSE and seen.gates else reader

    def _kept_from(self, seen: Condition) -> list[Row]:
        """The rows that a viewer may not see: private ones only, so that public ones need not be listed."""
        must, values = self.where(seen)
        found = self.query(
            "SELECT DISTINCT c.row FROM facets f JOIN documents d ON d.id = f.document"
            f" JOIN chunks c ON c.document = d.id WHERE f.key = ? AND f.value <> ? AND NOT ({must})",
            [AUDIENCE_GATE, PUBLIC, *values],
        )
        return [row for (row,) in found]

    def coverage(self, tier: Tier, seen: Condition = ANY) -> float:
        """One that cannot be read counts as whole: asked, it says what is wrong."""
        try:
            self.reader(tier, seen)
        except WatersmeetError:
            return 1.0
        return self.seen_share(tier.folder, tier.rows, seen)

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        table, which = ("unseen", [tier.folder]) if tier.folder in self._expected else ("chunks", [])
        store = "store = ? AND " if which else ""  # nothing is in a store that nobody knows of yet
        found: dict[Row, Unseen] = {}
        if first:
            rows = self.rows(first)
            listed = json.dumps([rows[chunk] for chunk in first if chunk in rows])
            sql = f"SELECT row FROM json_each(?) j JOIN {table} u ON {store}u.row = j.value WHERE u.row > ?"
            wanted = [row for (row,) in self.query(sql, [listed, *which, after])][:limit]
            found = {one[0]: Unseen(*one) for one in self.texts(wanted)}
        sql = f"SELECT row FROM {table} WHERE {store}row > ? ORDER BY row LIMIT ?"
        while len(found) < limit:  # of those that follow, some may be damaged
            wanted = [row for (row,) in self.query(sql, [*which, after, limit])]
            if not wanted:
                break
            found |= {one[0]: Unseen(*one) for one in self.texts(wanted)}
            after = wanted[-1]
        return list(found.values())[:limit]

    def left(self, tier: Tier, after: int = 0) -> int:
        """How many rows a tier's model has still to read."""
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


def check_there(tier: Tier, index: str) -> None:
    """A store without its commit file looks like one that nothing was written to yet."""
    from watersmeet.store.local._file_commits import COMMIT  # only where there are vectors

    size = 0
    with suppress(OSError):
        size = os.path.getsize(os.path.join(index, tier.folder, COMMIT))
    if tier.rows and not size:
        raise IndexDamaged(f"the {tier.name} vectors of {index} are lost", "`watersmeet sync` makes them again")


def _on_disk(folder: str) -> tuple[object, ...] | None:
    """Which file the catalogue is, so that another one in its place is noticed."""
    path = os.path.join(folder, FILE)
    try:
        found = os.stat(path)
    except OSError:
        return None
    if is_read_only(folder):  # it was opened as if nobody wrote to it: look whether somebody did
        return found.st_dev, found.st_ino, found.st_mtime_ns, still(path)
    return found.st_dev, found.st_ino
