"""A chunk's place as SQL columns: two for lines (0 where there are none), one for the rest."""

from __future__ import annotations

from watersmeet.core.place import NOWHERE, Place

Columns = tuple[int, int, str]
"""`first`, `last` and `place`."""


def columns(place: Place) -> Columns:
    first, last = place.lines or (0, 0)
    return first, last, place.spot


def place_of(file: int | None, first: int, last: int, spot: str) -> Place:
    """The place from its columns. Chunks of no file have no lines, though an earlier version stored one."""
    lines = (first, last) if first and file is not None else None
    if spot:
        return Place(lines).within(Place.read(spot))
    return Place(lines) if lines else NOWHERE
