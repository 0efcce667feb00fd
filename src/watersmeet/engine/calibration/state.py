"""Stored state of calibration, a small value in the index."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.core.errors import IndexProblem
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.engine.calibration.posterior import Posterior, grid

if TYPE_CHECKING:
    from watersmeet.core.index import State

LOCK_SECONDS = 5.0
CHECKSUM_KEY = "sum"
WHOLE = ""
"""Key of the posterior of the whole index, beside those of its collections."""
MAX_REMEMBERED = 5000
"""Hashes of evidence stored, so that the same evidence does not count twice."""


@dataclass(slots=True)
class CalibrationState:
    """Learned posteriors, counts, and hashes of the evidence."""

    beliefs: dict[str, Posterior] = field(default_factory=dict)
    judged: int = 0
    opened: int = 0
    evidence_hashes: list[str] = field(default_factory=list)

    def has(self, query: str, documents: Mapping[str, float]) -> bool:
        return _key(query, documents) in self.evidence_hashes

    def fresh(self, query: str, documents: Mapping[str, float]) -> bool:
        """Whether evidence is new; stores its hash, never its text."""
        if self.has(query, documents):
            return False
        self.evidence_hashes = [*self.evidence_hashes[-MAX_REMEMBERED + 1 :], _key(query, documents)]
        return True

    def to_json(self) -> dict[str, object]:
        beliefs = {name: {"pieces": b.pieces, "gained": list(b.gained)} for name, b in self.beliefs.items()}
        values = {
            "version": 1,
            "beliefs": beliefs,
            "judged": self.judged,
            "opened": self.opened,
            "seen": self.evidence_hashes,
        }
        return {**values, CHECKSUM_KEY: _checksum(values)}


def _key(query: str, documents: Mapping[str, float]) -> str:
    text = json.dumps([query.strip().casefold(), sorted(documents.items())]).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def load(state: State) -> CalibrationState:
    content = state.read()
    if content is None:
        return CalibrationState()
    try:
        return _read(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexProblem(
            f"{state} cannot be read: {error}", "run `watersmeet calibrate --reset` to start again"
        ) from None


def _checksum(values: Mapping[str, object]) -> int:
    return crc32(
        json.dumps({key: value for key, value in values.items() if key != CHECKSUM_KEY}, sort_keys=True).encode()
    )


def _read(table: dict[str, Any]) -> CalibrationState:
    if CHECKSUM_KEY in table and table[CHECKSUM_KEY] != _checksum(table):
        raise ValueError("wrong checksum")
    beliefs = {}
    for name, one in table["beliefs"].items():
        gained = tuple(float(value) for value in one["gained"])
        if len(gained) != len(grid()) or not all(map(math.isfinite, gained)):
            raise ValueError("it has another grid, or is damaged")
        beliefs[name] = Posterior(float(one["pieces"]), gained)
    return CalibrationState(beliefs, int(table["judged"]), int(table["opened"]), list(table["seen"]))


@contextmanager
def changing(state: State) -> Iterator[CalibrationState]:
    """The state, to be changed under a lock; written if the block ends without an error."""
    with state.changing(LOCK_SECONDS) as change:
        stored = load(state)
        yield stored
        change.write(json.dumps(stored.to_json()).encode())


def forget(*states: State) -> None:
    for state in states:
        with state.changing(LOCK_SECONDS) as change:
            change.write(None)
