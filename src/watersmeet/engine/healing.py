"""What a sync does about a catalogue that was found damaged: the files that it came from are read again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexDamaged, WatersmeetError
from watersmeet.core.model import Failure
from watersmeet.store.local._connect import ANEW, guarded
from watersmeet.store.local._intact import mark, marked, unmark
from watersmeet.store.local._sums import damage

if TYPE_CHECKING:
    from watersmeet.core.index import Index, Snapshot
    from watersmeet.engine.settings import Settings
    from watersmeet.store.local.catalogue import Catalogue

DAMAGED = ("index", "catalogue", "stores", "text store", "static vectors", "sparse vectors", "dense vectors")
"""Which of doctor's checks tell that a file is damaged."""


def met(view: Snapshot, folder: str) -> tuple[Failure, ...]:
    """What a query left out as damaged, said in its answer; and noted, so that the next sync reads it again."""
    if not view.damaged:
        return ()
    names = ", ".join(view.damaged)
    mark(folder, f"damaged: {names}")
    return (Failure("catalogue", f"left out, since it is damaged: {names}", "`watersmeet sync` reads it again"),)


@contextmanager
def diagnosed(index: Index, settings: Settings) -> Iterator[None]:
    """An error that nobody foresaw: if the index is damaged, that is why, and what to do about it is said."""
    try:
        yield
    except WatersmeetError:
        raise
    except Exception as error:
        from watersmeet.engine.health import check

        for one in check(index, settings):
            if not one.ok and one.name in DAMAGED:
                raise IndexDamaged(f"{one.name}: {one.detail}", one.hint) from error
        raise


def heal(catalogue: Catalogue, meta: Mapping[str, str]) -> dict[str, str]:
    """Nothing, unless a search or `doctor` has met damage; then what is new in the index's own facts.

    What SQLite's indexes have lost is in its tables. Documents that are not as they were written are read again with
    the next look at their files; what is registered is put again from its record.
    """
    if not marked(catalogue.folder):
        return {}
    from watersmeet.engine.mending import KEPT
    from watersmeet.store.local.written import reread

    with guarded(catalogue.path):
        if not _structure(catalogue):
            catalogue.db.execute("REINDEX")
            if not _structure(catalogue):
                raise IndexDamaged(f"{catalogue.path}: {'; '.join(damage(catalogue.db)[:3])}", ANEW)
        kept = {found["path"]: found for found in json.loads(meta.get(KEPT, "[]"))}
        kept |= {found["path"]: found for found in reread(catalogue)}
    fresh = {KEPT: json.dumps(list(kept.values()))} if kept else {}
    catalogue.set_meta(fresh)
    unmark(catalogue.folder)
    return fresh


def _structure(catalogue: Catalogue) -> bool:
    return [text for (text,) in catalogue.db.execute("PRAGMA integrity_check(1)")] == ["ok"]
