"""Damage that somebody meets: it is said, and noted for the next writer, who repairs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexDamaged, WatersmeetError
from watersmeet.core.model import Failure

if TYPE_CHECKING:
    from watersmeet.core.index import Index, Snapshot
    from watersmeet.engine.settings.settings import Settings

DAMAGED = ("index", "catalogue", "stores", "text store", "static vectors", "sparse vectors", "dense vectors")
"""Which of doctor's checks tell that a file is damaged."""


def damage_failures(snapshot: Snapshot, index: Index) -> tuple[Failure, ...]:
    """What a query left out as damaged, said in its answer; and noted, so that the next sync reads it again."""
    if not snapshot.damaged:
        return ()
    names = ", ".join(snapshot.damaged)
    index.note_damage(f"damaged: {names}")
    return (Failure("catalogue", f"left out, since it is damaged: {names}", "`watersmeet sync` reads it again"),)


@contextmanager
def diagnose(index: Index, settings: Settings) -> Iterator[None]:
    """An error that nobody foresaw: if the index is damaged, that is why, and what to do about it is said."""
    try:
        yield
    except WatersmeetError:
        raise
    except Exception as error:
        from watersmeet.engine.index.health import check

        for one in check(index, settings):
            if not one.ok and one.name in DAMAGED:
                raise IndexDamaged(f"{one.name}: {one.detail}", one.hint) from error
        raise
