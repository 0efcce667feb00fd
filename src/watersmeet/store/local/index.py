"""The `Index` port for a folder: a pool of snapshots, small state, opening for writing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.errors import IndexBusy, IndexDamaged, IndexProblem
from watersmeet.core.files import FOLDER_MODE, check_plain_tree, refuse_read_only
from watersmeet.core.index import (
    CURRENT_TIERS,
    NEXT_TIERS,
    BackupPart,
    BackupSource,
    CatchUp,
    Check,
    CopiedIndex,
    NextGeneration,
    Tier,
)
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Row
from watersmeet.core.system import is_ours, is_within
from watersmeet.store.local._connect import FILE, FORMAT
from watersmeet.store.local._file_checks import mark
from watersmeet.store.local._frozen import check_frozen, is_frozen
from watersmeet.store.local.snapshot import SPARSE, LocalSnapshot, Make, store_of
from watersmeet.store.local.state import FileState

if TYPE_CHECKING:
    from watersmeet.core.writing import Bookkeeping, KnownRoot, Preview, Root, WriterOptions
    from watersmeet.store.local.contents import LocalContents
    from watersmeet.store.local.writer import LocalWriter

IDLE_SECONDS = 60.0
"""Seconds that an unused snapshot stays open."""
MAX_GARBAGE = 0.3
"""The share of dead vectors above which the files are compacted."""


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """An index in a folder: SQLite decides which rows are live; words and vectors are files beside it."""

    schemes: ClassVar[tuple[str, ...]] = ()
    """URL schemes that it handles: none, since it handles folders."""
    format: ClassVar[int] = FORMAT
    remote: ClassVar[bool] = False
    kind: ClassVar[str] = "local"

    place: str
    make: Make
    cache: str = ""  # the user's cache folder: an index in it is readable by its owner only
    _idle: list[LocalSnapshot] = field(default_factory=list, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def exists(self) -> bool:
        return os.path.exists(os.path.join(self.place, FILE))

    @contextmanager
    def snapshot(self) -> Iterator[LocalSnapshot]:
        with self._lock:
            reader = self._idle.pop() if self._idle else None
        if reader is not None and not reader.current():
            reader.close()
            reader = None
        while reader is None:
            reader = LocalSnapshot(self.place, self.make)
            if not reader.current():  # the index was replaced while it was opened
                reader.close()
                reader = None
        try:
            with reader.transaction():
                yield reader
        finally:
            reader.last_used = now = time.monotonic()
            with self._lock:
                self._idle.append(reader)
                old = self._idle.pop(0) if self._idle[0].last_used < now - IDLE_SECONDS else None
            if old is not None:  # the last used is reused first, so the others would hold an old state for ever
                old.close()

    def state(self, name: str) -> FileState:
        return FileState(self.place, name)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    # ------------------------------------------------------------ writing

    @contextmanager
    def writer(self, options: WriterOptions, recreate: bool = False) -> Iterator[LocalWriter]:
        from watersmeet.store.local.open_writer import open_writer
        from watersmeet.store.local.writer import LocalWriterOptions

        self._refuse_frozen()
        own = LocalWriterOptions(
            options,
            options.fingerprint["text"],
            lambda kind, folder: self.make(kind)(folder=folder),
            self._drop,
        )
        with open_writer(self.place, own, recreate) as writer:
            self._tighten_cache()
            yield writer

    def delete(self, wait: float) -> None:
        """Delete the files of the index."""
        from watersmeet.store.local._turns import delete_index

        self._refuse_frozen()
        self.close()
        delete_index(self.place, FILE, wait)

    def preview(self) -> AbstractContextManager[Preview]:
        from watersmeet.store.local.preview import open_preview

        return open_preview(self.place)

    def bookkeeping(self, wait: float) -> AbstractContextManager[Bookkeeping]:
        from watersmeet.store.local.open_writer import bookkeeping

        self._refuse_frozen()
        return bookkeeping(self.place, wait)

    @contextmanager
    def alone(self, work: str) -> Iterator[None]:
        from watersmeet.core.locks import holder_of, locked
        from watersmeet.store.local._turns import tighten_index

        self._refuse_frozen()
        file = f"{work}.lock"
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.place, 0, file))
            except IndexBusy:
                who = holder_of(os.path.join(self.place, file))
                raise IndexBusy(f"{who} is at it", "wait until it is done") from None
            tighten_index(self.place)
            self._tighten_cache()
            yield

    def root_places(self) -> list[str]:
        from watersmeet.store.local.documents import DocumentsView

        with closing(DocumentsView(self.place)) as snapshot:
            return snapshot.roots()

    def known_roots(self, predicate: Callable[[Root], bool]) -> Mapping[str, KnownRoot]:
        from watersmeet.store.local.roots import committed_roots

        return committed_roots(self.place, predicate)

    def _refuse_frozen(self) -> None:
        if is_frozen(self.place):
            raise refuse_read_only(self.place, "it is a frozen copy")

    def _tighten_cache(self) -> None:
        place = os.path.abspath(self.place)
        if self.cache and place != self.cache and is_within(place, self.cache) and is_ours(os.stat(self.cache)):
            os.chmod(self.cache, FOLDER_MODE)

    # ------------------------------------------------------------ vectors

    def vector_store(self, tier: Tier) -> Any:
        return store_of(tier, self.place, self.make)

    def name_vectors(self, tier: str, fingerprint: str, facts: Mapping[str, str], replaces: str = "") -> str:
        """A folder name for a vector store; another than `replaces`, which running queries may still read."""
        generation = int(facts["text_folder"].removeprefix("text-"))
        while True:
            name = f"vectors-{tier}-{generation}-{fingerprint[:8]}"
            if not replaces or (name != replaces and not os.path.exists(os.path.join(self.place, name))):
                return name
            generation += 1

    def _drop(self, facts: Mapping[str, str], rows: Sequence[Row]) -> None:
        """Deletes dead rows from the vector stores; compacts them if needed. Damaged stores are left to `deepen`."""
        tier_facts = [json.loads(facts.get(key, "{}")) for key in (CURRENT_TIERS, NEXT_TIERS)]
        for tier in [Tier(**entry) for tiers in tier_facts for entry in tiers.values()]:
            with suppress(IndexDamaged), closing(self.vector_store(tier)) as store:
                store.reader()
                writer = store.writer()
                writer.drop(rows)
                writer.commit()
                limit = 0 if tier.name == SPARSE else MAX_GARBAGE  # dead postings distort how rare a term is
                if store.reader().garbage > limit:
                    writer.compact()

    # ------------------------------------------------------------ health

    def note_damage(self, reason: str) -> None:
        if not is_frozen(self.place):
            mark(self.place, reason)

    # ------------------------------------------------------------ backups

    def back_up(self, scratch: str, wait: float) -> AbstractContextManager[BackupSource]:
        from watersmeet.store.local.backup import back_up

        return back_up(self.place, self.make, scratch, wait)

    def restore(self, parts: Iterator[BackupPart], states: Collection[str], replace: bool, wait: float) -> int:
        from watersmeet.store.local.backup import restore

        self.close()
        documents = restore(self.place, self.make, parts, states, replace, wait)
        self._tighten_cache()
        return documents

    # ------------------------------------------------------------ generations

    def can_be_beside(self) -> bool:
        from watersmeet.store.local.generations import can_be_beside

        return can_be_beside(self.place)

    def next_generation(self) -> AbstractContextManager[NextGeneration]:
        from watersmeet.store.local.generations import next_generation

        return next_generation(self.place)

    def roll_back(self, catch_up: CatchUp, wait: float) -> str:
        from watersmeet.store.local.generations import roll_back

        return roll_back(self.place, catch_up, wait)

    def forget_previous(self) -> int:
        from watersmeet.store.local.generations import forget_previous

        return forget_previous(self.place)

    # ------------------------------------------------------------ frozen copies

    def copy_to(self, folder: str, tiers: Collection[str], private_too: bool = False) -> CopiedIndex:
        """A copy of one snapshot in a new folder; others may write meanwhile. `freeze` finishes it."""
        from watersmeet.store.local.frozen_copy import copy_index

        with closing(LocalSnapshot(self.place, self.make)) as snapshot, snapshot.transaction():
            return copy_index(snapshot, folder, self.make, tiers, private_too)

    def freeze(self) -> None:
        """Finish a copy: it is never written again."""
        from watersmeet.store.local.frozen_copy import freeze

        self.close()
        freeze(self.place)

    @contextmanager
    def contents(self) -> Iterator[LocalContents]:
        """All that one snapshot has, to move it into another store."""
        from watersmeet.store.local.contents import LocalContents

        with closing(LocalSnapshot(self.place, self.make)) as snapshot, snapshot.transaction():
            yield LocalContents(snapshot)

    def check_frozen(self) -> None:
        """Raise if this is not a frozen copy that can be served, whoever made it."""
        if not is_frozen(self.place):
            raise IndexProblem(f"{self.place} is not a frozen copy of an index", "export it again")
        check_plain_tree(self.place)
        with closing(LocalSnapshot(self.place, self.make)) as snapshot:
            snapshot.with_connection(partial(check_frozen, self.place))

    def check(self) -> list[Check]:
        from watersmeet.store.local.health import check_files

        return check_files(self.place, self.make)

    def size_bytes(self) -> int:
        from watersmeet.store.local.sizes import size_of

        return size_of(self.place)

    def size_by_part(self) -> dict[str, int]:
        """Size on disk of the catalogue, of the words, and of the vectors of each tier."""
        from watersmeet.store.local.sizes import sizes_of

        return sizes_of(self.place)
