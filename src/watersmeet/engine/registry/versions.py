"""Which of two versions of a server is the newer one, as the official registry sees it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from watersmeet.core.entities import FORM, LATEST, OFFICIAL, Entity, Refused
from watersmeet.engine.registry.record_files import Item, Listed

_VERSION = re.compile(r"v?(\d++(?:\.\d++)*+)(?:[-.]?([^+]*+))?(?:\+.*)?", re.IGNORECASE)
_PIECE = re.compile(r"\d+|[^\W\d_]+")

LONGEST = 256
"""A longer text is no version."""

Key = tuple[tuple[int, ...], bool, tuple[tuple[int, str], ...]]


def older(entity: Entity, known: Entity) -> bool:
    """Whether both are versions of a server in the official registry, and the first is not as new as the second."""
    if entity.extra.get(FORM) != OFFICIAL or known.extra.get(FORM) != OFFICIAL:
        return False
    latest, was_latest = entity.extra.get(LATEST), known.extra.get(LATEST)
    versions = [version(str(each.extra.get("version", ""))) for each in (entity, known)]
    if latest is not None and was_latest is not None and latest is not was_latest:
        return bool(was_latest)
    return versions[0] is not None and versions[1] is not None and versions[0] < versions[1]


def version(text: str) -> Key | None:
    """Something to compare; a version with a suffix comes before the one without."""
    found = _VERSION.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if found is None:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    pieces = _PIECE.findall(found[2] or "")
    return tuple(numbers), not pieces, tuple((int(p), "") if p.isdecimal() else (-1, p.casefold()) for p in pieces)


def newest_first(found: Sequence[Item]) -> list[Item]:
    """The newest of several versions takes the place of the first that was read."""
    order = list(found)
    first: dict[str, int] = {}
    for place, item in enumerate(order):
        if isinstance(item, Refused | Listed) or item[1].extra.get(FORM) != OFFICIAL:
            continue
        before = first.setdefault(item[1].path, place)
        known = order[before]
        if not isinstance(known, Refused | Listed) and older(known[1], item[1]):
            order[before], order[place] = item, known
    return order
