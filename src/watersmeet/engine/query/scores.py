"""What signals say of chunks that others found."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from watersmeet.core.model import ChunkId, Plan, Ranking
from watersmeet.core.ports import Scorer


@dataclass(slots=True)
class Scores:
    """Of one plan; what was asked for ahead is not asked for again."""

    plan: Plan
    signals: Mapping[str, Scorer]
    _known: dict[str, dict[ChunkId, float]] = field(default_factory=dict)
    _needed: bool = False

    def of(self, name: str, chunks: set[ChunkId]) -> dict[ChunkId, float]:
        """What this signal says of these chunks."""
        known = self._known.get(name, {})
        scores = {chunk: known[chunk] for chunk in chunks if chunk in known}
        others = chunks - scores.keys() if scores else chunks
        return {**scores, **self.signals[name].score(self.plan, others)} if others else scores

    def ahead(self, names: Collection[str], found: Ranking) -> None:
        """What these signals will be asked of what one found, as long as nobody waits for it."""
        chunks = [hit.chunk for hit in found.hits]
        for name in names if chunks else ():
            if self._needed:
                return
            self._known[name] = {**self._known.get(name, {}), **self.signals[name].score(self.plan, chunks)}

    def now(self) -> None:
        """What was not asked for ahead by now is asked for when it is needed: two threads would only take turns."""
        self._needed = True
