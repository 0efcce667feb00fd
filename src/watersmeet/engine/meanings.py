"""The vector stores of an index, as the signals of one moment need them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelProblem, WatersmeetError
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.vectors import Meanings, Near
from watersmeet.engine.modes import percent
from watersmeet.engine.settings import Settings
from watersmeet.engine.tiers import SPARSE, TIERS, Store, Tier, embedder_name, model_of
from watersmeet.store.near import LiveMeanings
from watersmeet.store.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.core.vectors import RowArray


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Stands where a model should: whoever asks it is told why it is not there."""

    problem: WatersmeetError

    def nearest(self, text: str, condition: Condition, limit: int) -> list[Near]:
        raise self.problem.with_traceback(None)  # or all that ever raised it is kept

    def score(self, text: str, ids: Collection[ChunkId]) -> list[Near]:
        raise self.problem.with_traceback(None)  # or all that ever raised it is kept


@dataclass(slots=True)
class Shelf:
    """The open vector stores of one session."""

    folder: str
    _stores: dict[str, tuple[Tier, Store]] = field(default_factory=dict)
    _readers: dict[str, Any] = field(default_factory=dict)
    _coverage: dict[str, float] = field(default_factory=dict)
    _missing: dict[str, RowArray] = field(default_factory=dict)
    _broken: dict[str, WatersmeetError] = field(default_factory=dict)

    def close(self) -> None:
        for _, store in self._stores.values():
            store.close()
        self._stores.clear()

    def renew(self, view: SqliteView, tiers: Mapping[str, Tier]) -> None:
        """Open what the index holds now, and see what each model has not seen yet."""
        import numpy as np

        live = np.array(view.live_rows(), dtype=np.int64)
        self._readers, self._coverage, self._missing, self._broken = {}, {}, {}, {}
        for name in self._stores.keys() - tiers.keys():  # the index was begun anew, and has no such vectors yet
            self._stores.pop(name)[1].close()
        for name, tier in tiers.items():
            if name not in self._stores or self._stores[name][0].folder != tier.folder:
                self._stores[name] = (tier, tier.open(self.folder))
            self._stores[name] = (tier, self._stores[name][1])
            try:
                reader = self._readers[name] = self._stores[name][1].reader()
                held = reader.has(live)
            except WatersmeetError as error:
                self._broken[name] = error
                self._coverage[name] = 1.0  # it is asked, and its answer says what is wrong
                continue
            self._missing[name] = live[~held]
            self._coverage[name] = float(held.mean()) if len(live) else 1.0

    @property
    def coverage(self) -> Mapping[str, float]:
        """The share of the live chunks that each model has seen."""
        return self._coverage

    def ports(self, settings: Settings, view: SqliteView) -> dict[str, Meanings]:
        """For each tier what its signal asks, or what says why it cannot."""
        made: dict[str, Meanings] = {}
        stand_in: LiveMeanings[Any] | None = None
        for name in TIERS:
            try:
                made[name] = port = self._port(name, settings, view, None if name == SPARSE else stand_in)
                stand_in = port if stand_in is None and name != SPARSE else stand_in
            except WatersmeetError as error:
                made[name] = Unavailable(error)
        return made

    def _port(
        self, name: str, settings: Settings, view: SqliteView, stand_in: LiveMeanings[Any] | None
    ) -> LiveMeanings[Any]:
        if name in self._broken:
            raise self._broken[name]
        component = embedder_name(settings, name)
        if not component:
            raise ModelProblem(f"{name} vectors are switched off", f"set index.vectors and index.{name}")
        if name not in self._stores:
            what = "`watersmeet deepen`" if name == "dense" else "`watersmeet sync`"
            raise ModelProblem(f"the index holds no {name} vectors", f"make them with {what}")
        share, enough = self._coverage[name], settings.section("index").take_part
        if share < enough:
            raise ModelProblem(
                f"it has seen {percent(share)} of the chunks, and votes from {percent(enough)} on",
                "`watersmeet deepen` makes the vectors that are missing",
            )
        model = model_of(settings, name, component)
        self._stores[name][0].check(model)
        return LiveMeanings(self._readers[name], view, model, self._missing[name], stand_in)
