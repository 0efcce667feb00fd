"""Damage of an index: reported, and noted for the next writer, which repairs it."""

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
"""Checks of `doctor` that detect damaged files."""


def damage_failures(snapshot: Snapshot, index: Index) -> tuple[Failure, ...]:
    """Failures for damaged rows that a query left out. They are noted, so that the next sync reads them again."""
    if not snapshot.damaged:
        return ()
    names = ", ".join(snapshot.damaged)
    index.note_damage(f"damaged: {names}")
    return (
        Failure(
            "catalogue", f"left out because of damage: {names}", "run `watersmeet sync`, which reads the files again"
        ),
    )


@contextmanager
def diagnose(index: Index, settings: Settings) -> Iterator[None]:
    """Turn an unexpected error into `IndexDamaged` with a hint, if a check finds the index damaged."""
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
