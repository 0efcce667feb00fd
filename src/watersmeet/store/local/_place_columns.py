"""The place of a chunk as its row has it: lines in two columns, which are 0 where there are none, the rest in one."""

from __future__ import annotations

from watersmeet.core.place import NOWHERE, Place

Columns = tuple[int, int, str]
"""`first`, `last` and `place`."""


def columns(place: Place) -> Columns:
    first, last = place.lines or (0, 0)
    return first, last, place.spot


def place_of(file: int | None, first: int, last: int, spot: str) -> Place:
    """What is in no file has no lines; an earlier version wrote that it has one."""
    lines = (first, last) if first and file is not None else None
    if spot:
        return Place(lines).within(Place.read(spot))
    return Place(lines) if lines else NOWHERE
