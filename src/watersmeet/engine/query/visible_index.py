"""The part of an index that one viewer may see, with word, link, entity and vector statistics of that part only."""

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
"""Cached pipelines, by settings and viewer. They depend on the generation of the stores, not on single commits."""
MAX_PIPELINES = 128


class VisibleIndex:
    """A snapshot with the visibility of one viewer. `visible` is empty if nothing is hidden from the viewer.

    `_public_only`: of statistics shared by viewers, use only those computed from public documents.
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
        """Word statistics; None if nothing was ever synced."""
        return self.snapshot.words(self.visible)

    @property
    def entities(self) -> Entities:
        """Entities of the registry."""
        return self.snapshot.entities(self.visible)

    @property
    def count(self) -> int:
        """Number of visible documents."""
        return sum(self.snapshot.kinds(self.visible).values())

    @property
    def coverage(self) -> Mapping[str, float]:
        """Share of the chunks with vectors, by tier; empty if there are no vectors."""
        return {name: self.snapshot.coverage(tier, self.visible) for name, tier in self.snapshot.tiers().items()}

    @property
    def levels(self) -> dict[str, float]:
        """Mean cosine of general queries and their first results, by tier."""
        tiers = [(name, tier) for name, tier in self.snapshot.tiers().items() if tier.measured]
        return {name: tier.public_level if self._public_only else tier.level for name, tier in tiers}

    def pipeline(self, settings: Settings, signals: tuple[str, ...], stages: tuple[str, ...] | None = None) -> Pipeline:
        """The pipeline for these settings; `stages` replace those of the recipe."""
        if self.words is None:
            raise NoIndex(f"nothing was ever synced into {self._index.place}", "run `watersmeet sync PATH`")
        gates = tuple(self.visible.gates.items())
        key = (self.snapshot.generation, gates, self._public_only, settings.recipe, signals, stages)
        if key not in self._pipelines:
            if len(self._pipelines) >= MAX_PIPELINES:
                self._pipelines.clear()
            self._pipelines[key] = self._assemble(settings, signals, stages, self._ports(settings, signals))
        return self._pipelines[key]

    def _ports(self, settings: Settings, signals: tuple[str, ...]) -> dict[str, Any]:
        """Ports that components may declare. All stay valid after a commit."""
        snapshot, visible = self.snapshot, self.visible
        ports: dict[str, Any] = {
            "words": snapshot.words(visible),
            "view": snapshot,
            "links": LazyPort(lambda: snapshot.links(visible)),
            "entities": LazyPort(lambda: snapshot.entities(visible)),
            "pair_scorer": LazyPort(lambda: _pair_scorers(settings)),
            "weight_source": LazyPort(lambda: StoredWeights(self._index.state(CALIBRATION), settings)),
        }
        if any(signal in VECTORS for signal in signals):
            from watersmeet.engine.index.vocabulary import LiveConcepts
            from watersmeet.engine.query.vector_search import vector_searches  # lazy: loads numpy

            ports |= vector_searches(snapshot, visible, settings)
            ports["concepts"] = LiveConcepts(self._index.state, settings, snapshot, whole=not self._public_only)
        return ports


def _pair_scorers(settings: Settings) -> Any:
    from watersmeet.engine.models import PairScorers

    return PairScorers(settings)
