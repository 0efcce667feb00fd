"""An index as one viewer sees it: words, links, entities, vectors and the statistics of them are of nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from watersmeet.core.errors import NoIndex
from watersmeet.core.index import Index, Snapshot
from watersmeet.core.model import Condition
from watersmeet.core.ports import Entities, Words
from watersmeet.core.visibility import AUDIENCE_GATE, EVERYONE, audience_gates
from watersmeet.engine.calibration.learned_weights import StoredWeights
from watersmeet.engine.components import LazyPort
from watersmeet.engine.index.state_names import CALIBRATION
from watersmeet.engine.query.modes import VECTORS
from watersmeet.engine.query.pipeline import Pipeline
from watersmeet.engine.settings.settings import Settings

Assemble = Callable[[Settings, tuple[str, ...], tuple[str, ...] | None, dict[str, Any]], Pipeline]
Pipelines = MutableMapping[tuple[object, ...], Pipeline]
"""By what they were made for. They belong to a generation of the stores: a commit leaves them as they are."""
MOST_PIPELINES = 128


class VisibleIndex:
    """Of one moment. `seen` is empty for those from whom nothing is withheld.

    `public_only`: of what is made for all viewers at once, only what is made of what everyone may see.
    """

    def __init__(
        self, index: Index, snapshot: Snapshot, condition: Condition, pipelines: Pipelines, assemble: Assemble
    ) -> None:
        gates = {key: allowed for key, allowed in condition.gates.items() if key == AUDIENCE_GATE}
        self.snapshot, self.visible = snapshot, Condition(gates=snapshot.needed(gates))
        self._public_only = bool(gates and snapshot.needed(audience_gates(EVERYONE)))
        self._index, self._pipelines, self._assemble = index, pipelines, assemble

    @property
    def words(self) -> Words | None:
        """The words of the index; None if nothing was ever synced into it."""
        return self.snapshot.words(self.visible)

    @property
    def entities(self) -> Entities:
        """The entities of the index, if there is a registry in it."""
        return self.snapshot.entities(self.visible)

    @property
    def count(self) -> int:
        """How many documents there are."""
        return sum(self.snapshot.kinds(self.visible).values())

    @property
    def coverage(self) -> Mapping[str, float]:
        """The share of the chunks that each model has seen; empty if there are no vectors."""
        return {name: self.snapshot.coverage(tier, self.visible) for name, tier in self.snapshot.tiers().items()}

    @property
    def levels(self) -> dict[str, float]:
        """How near the chunks are to one another, by each model."""
        tiers = self.snapshot.tiers().items()
        return {name: tier.public_level if self._public_only else tier.level for name, tier in tiers}

    def pipeline(self, settings: Settings, signals: tuple[str, ...], stages: tuple[str, ...] | None = None) -> Pipeline:
        """The query path for these settings; `stages` go before those of the recipe."""
        if self.words is None:
            raise NoIndex(f"nothing was ever synced into {self._index.place}", "fill it with `watersmeet sync PATH`")
        gates = tuple(self.visible.gates.items())
        key = (self.snapshot.generation, gates, self._public_only, settings.recipe, signals, stages)
        if key not in self._pipelines:
            if len(self._pipelines) >= MOST_PIPELINES:
                self._pipelines.clear()
            self._pipelines[key] = self._assemble(settings, signals, stages, self._ports(settings, signals))
        return self._pipelines[key]

    def _ports(self, settings: Settings, signals: tuple[str, ...]) -> dict[str, Any]:
        """What components may ask for. None of them is of one moment alone."""
        snapshot, seen = self.snapshot, self.visible
        ports: dict[str, Any] = {
            "words": snapshot.words(seen),
            "view": snapshot,
            "links": LazyPort(lambda: snapshot.links(seen)),
            "entities": LazyPort(lambda: snapshot.entities(seen)),
            "pair_scorer": LazyPort(lambda: _pairs(settings)),
            "weight_source": LazyPort(lambda: StoredWeights(self._index.state(CALIBRATION), settings)),
        }
        if any(signal in VECTORS for signal in signals):
            from watersmeet.engine.index.vocabulary import LiveConcepts
            from watersmeet.engine.query.vector_search import vector_searches  # numpy is loaded here and not before

            ports |= vector_searches(snapshot, seen, settings)
            ports["concepts"] = LiveConcepts(self._index.state, settings, snapshot, whole=not self._public_only)
        return ports


def _pairs(settings: Settings) -> Any:
    from watersmeet.engine.models import PairScorers

    return PairScorers(settings)
