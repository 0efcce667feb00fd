"""An index to try a sync of files on: one transaction that is rolled back, and documents are only listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.visibility import Audience
from watersmeet.core.writing import Changes, Planned, Put, Root, planned
from watersmeet.store.postgres._schema import GENERATION, LASTING
from watersmeet.store.postgres.catalogue import Catalogue
from watersmeet.store.postgres.generations import Generation

if TYPE_CHECKING:
    from watersmeet.store.postgres.index import Opened
    from watersmeet.store.postgres.pool import Db

EMPTY = "wm_preview"


class PostgresPreview(Catalogue):
    """What is written to its tables is dropped. `planned` lists what would have become of documents."""

    mended = False

    def __init__(self, generation: Generation, db: Db, place: str) -> None:
        super().__init__(generation, db, place)
        self.planned: list[Planned] = []
        self._facts: dict[str, str] = {}
        self._moved: dict[int, int] = {}
        self._audiences: dict[int, Audience] = {}
        self.covered = [root.path for root in self.roots()]

    def next_commit(self, db: Db) -> int:
        """No writer has to wait for a preview."""
        return 0

    def meta(self) -> dict[str, str]:
        return {**super().meta(), **self._facts}

    def set_meta(self, values: Mapping[str, str]) -> None:
        self._facts.update(values)

    def collection(self, name: str, metadata: Mapping[str, str] | None = None) -> int:
        """One that exists is left alone, for writers would wait for this transaction."""
        known = {one: identity for identity, one in self.collections().items()}
        return known[name] if name in known else super().collection(name)

    def set_root_collection(self, root: int, collection: int) -> None:
        self._moved[root] = collection

    def roots(self) -> list[Root]:
        return [replace(root, collection=self._moved.get(root.id, root.collection)) for root in super().roots()]

    def collection_audiences(self) -> dict[int, Audience]:
        return {key: one for key, one in {**super().collection_audiences(), **self._audiences}.items() if one}

    def set_audience(self, collection: int, audience: Audience) -> None:
        self._audiences[collection] = audience

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        self.planned += planned(self.stamped(changes.put), changes.removed, lambda name: self.owner(name) is not None)
        return []

    def renew(self) -> None:
        """It holds no lease."""

    def take_turns(self) -> None:
        """It holds no lease."""

    def compact(self, grace: float, share: float) -> int:
        return 0


@contextmanager
def open_preview(opened: Opened, place: str) -> Iterator[PostgresPreview]:
    """A preview of the index; of an empty one if there is none."""
    current = opened.current()
    generation = opened.generation() if current is not None else opened.generation(0)
    with generation.writing.connection() as db:
        import psycopg

        with db.transaction() as all_of_it:
            if current is None:
                db.execute(f"CREATE SCHEMA {EMPTY}_{opened.name}")
                db.execute(f"SET LOCAL search_path TO {EMPTY}_{opened.name}")
                db.execute(LASTING)
                db.execute(GENERATION)
            yield PostgresPreview(generation, db, place)
            raise psycopg.Rollback(all_of_it)
