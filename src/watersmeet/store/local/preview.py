"""A catalogue that a sync can be tried on: it is read without a lock, and what is written to it is dropped.

So a dry run takes the same way as a sync, and reports the same. SQLite refuses every write (`query_only`); the roots
and facts that the rest of the run needs are kept beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from tempfile import TemporaryDirectory

from watersmeet.core.errors import IndexMismatch, NoIndex
from watersmeet.core.visibility import Audience
from watersmeet.core.writing import Changes, FileState, Planned, Put, Root, planned
from watersmeet.store.local._connect import FILE, FORMAT, connect, sqlite_errors
from watersmeet.store.local._paths import paths_of
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.roots import files_in, roots_in


class Preview(Catalogue):
    """The catalogue as of the last commit. `planned` lists what would have been written."""

    mended = False

    def __init__(self, folder: str) -> None:
        self.folder, self.path = folder, os.path.join(folder, FILE)
        self.db = connect(folder)
        self.planned: list[Planned] = []
        self._facts: dict[str, str] = {}
        self._new_roots: list[Root] = []
        self._relocated: dict[int, str] = {}
        self._moved: dict[int, int] = {}
        self._new_collections: dict[int, str] = {}
        self._new_audiences: dict[int, Audience] = {}
        with ExitStack() as undo, sqlite_errors(folder):
            undo.callback(self.db.close)
            if self.db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                raise IndexMismatch(f"{folder} has an older format", "run `watersmeet sync` once, which upgrades it")
            self.db.execute("PRAGMA query_only = ON")
            self.db.execute("BEGIN")
            self.paths = paths_of(folder, self.db)
            undo.pop_all()
        self.covered = [root.path for root in self.roots()]

    def meta(self) -> dict[str, str]:
        return {**super().meta(), **self._facts}

    def set_meta(self, values: Mapping[str, str]) -> None:
        self._facts.update(values)

    def collection(self, name: str, metadata: Mapping[str, str] | None = None) -> int:
        known = {each: identity for identity, each in self.collections().items()}
        if name not in known:
            self._new_collections[-1 - len(self._new_collections)] = name
        return known.get(name, -len(self._new_collections))

    def collections(self) -> dict[int, str]:
        return {**super().collections(), **self._new_collections}

    def collection_audiences(self) -> dict[int, Audience]:
        return {key: one for key, one in {**super().collection_audiences(), **self._new_audiences}.items() if one}

    def set_audience(self, collection: int, audience: Audience) -> None:
        self._new_audiences[collection] = audience

    def roots(self) -> list[Root]:
        stored = [
            replace(
                root,
                path=self._relocated.get(root.id, root.path),
                collection=self._moved.get(root.id, root.collection),
            )
            for root in roots_in(self.db, self.paths)
        ]
        return [*stored, *self._new_roots]

    def add_root(self, path: str, name: str, collection: int, prefix: str, kind: str = "folder") -> Root:
        self._new_roots.append(Root(-1 - len(self._new_roots), path, name, collection, prefix, kind))
        return self._new_roots[-1]

    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        self._relocated |= {root.id: path for root, path in moves}
        return 0

    def set_root_collection(self, root: int, collection: int) -> None:
        self._moved[root] = collection

    def files(self, root: int) -> dict[str, FileState]:
        return files_in(self.db, root)

    def root_lease(self, root: Root) -> nullcontext[None]:
        return nullcontext()

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        """Nothing is written; what would have been is added to `planned`."""
        self.planned += planned(self.stamped(changes.put), changes.removed, lambda name: self.owner(name) is not None)
        return []

    def renew(self) -> None:
        pass

    def take_turns(self) -> None:
        pass

    def compact(self, grace: float, share: float) -> int:
        return 0


@contextmanager
def open_preview(folder: str) -> Iterator[Preview]:
    """A preview of an index; of an empty one if there is none."""
    with ExitStack() as stack:
        try:
            preview = Preview(folder)
        except NoIndex:
            empty = stack.enter_context(TemporaryDirectory(prefix="watersmeet-"))
            connect(empty, create=True).close()
            preview = Preview(empty)
        stack.callback(preview.close)
        yield preview
