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


def incomplete(snapshot: Snapshot) -> tuple[Failure, ...]:
    """Failures for signals that gave up before they had as many hits that satisfy the condition as they should."""
    reason = "incomplete: too many of the best candidates did not satisfy the filter, and no more were looked at"
    hint = "name a folder in the path, or filter by tag, kind or a field"
    return tuple(Failure(name, reason, hint) for name in snapshot.incomplete)


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
