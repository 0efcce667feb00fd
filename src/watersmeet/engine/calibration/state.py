"""Where what was learnt is kept: one small value of the index's named state."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.core.errors import IndexProblem
from watersmeet.engine.calibration.posterior import Posterior, grid

if TYPE_CHECKING:
    from watersmeet.core.index import State

WAIT = 5.0
SUM = "sum"
WHOLE = ""
"""The name under which the belief about the whole index is kept, beside those about its collections."""
MAX_REMEMBERED = 5000
"""How many pieces of evidence are remembered, so that the same one does not count twice."""


@dataclass(slots=True)
class CalibrationState:
    """All that was learnt."""

    beliefs: dict[str, Posterior] = field(default_factory=dict)
    judged: int = 0
    opened: int = 0
    seen: list[str] = field(default_factory=list)

    def has(self, query: str, documents: Mapping[str, float]) -> bool:
        return _key(query, documents) in self.seen

    def fresh(self, query: str, documents: Mapping[str, float]) -> bool:
        """Whether this is news; it is remembered as a hash, never as text."""
        if self.has(query, documents):
            return False
        self.seen = [*self.seen[-MAX_REMEMBERED + 1 :], _key(query, documents)]
        return True

    def to_json(self) -> dict[str, object]:
        beliefs = {name: {"pieces": b.pieces, "gained": list(b.gained)} for name, b in self.beliefs.items()}
        kept = {"version": 1, "beliefs": beliefs, "judged": self.judged, "opened": self.opened, "seen": self.seen}
        return {**kept, SUM: _sum(kept)}


def _key(query: str, documents: Mapping[str, float]) -> str:
    said = json.dumps([query.strip().casefold(), sorted(documents.items())]).encode()
    return hashlib.blake2b(said, digest_size=8).hexdigest()


def load(state: State) -> CalibrationState:
    content = state.read()
    if content is None:
        return CalibrationState()
    try:
        return _read(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexProblem(f"{state} cannot be read: {error}", "`watersmeet calibrate --reset` begins afresh") from None


def _sum(kept: Mapping[str, object]) -> int:
    return crc32(json.dumps({key: value for key, value in kept.items() if key != SUM}, sort_keys=True).encode())


def _read(table: dict[str, Any]) -> CalibrationState:
    if SUM in table and table[SUM] != _sum(table):
        raise ValueError("it is not what was written")
    beliefs = {}
    for name, one in table["beliefs"].items():
        gained = tuple(float(value) for value in one["gained"])
        if len(gained) != len(grid()) or not all(map(math.isfinite, gained)):
            raise ValueError("it was written for another grid, or damaged")
        beliefs[name] = Posterior(float(one["pieces"]), gained)
    return CalibrationState(beliefs, int(table["judged"]), int(table["opened"]), list(table["seen"]))


@contextmanager
def changing(state: State) -> Iterator[CalibrationState]:
    """What is kept, to be changed by one process at a time; written when the block ends well."""
    with state.changing(WAIT) as change:
        kept = load(state)
        yield kept
        change.write(json.dumps(kept.to_json()).encode())


def forget(*states: State) -> None:
    for state in states:
        with state.changing(WAIT) as change:
            change.write(None)
