"""The vector stores of an index, as the signals of one moment need them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelProblem, WatersmeetError
from watersmeet.core.model import ChunkId, Condition, Row
from watersmeet.core.vectors import Meanings, Near
from watersmeet.engine.modes import percent
from watersmeet.engine.settings import Settings
from watersmeet.engine.tiers import SPARSE, TIERS, Store, Tier, embedder_name, model_of
from watersmeet.store.local.near import LiveMeanings
from watersmeet.store.local.view import SqliteView

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
    stores: dict[str, tuple[Tier, Store]] = field(default_factory=dict)
    readers: dict[str, Any] = field(default_factory=dict)
    broken: dict[str, WatersmeetError] = field(default_factory=dict)

    def close(self) -> None:
        for _, store in self.stores.values():
            store.close()
        self.stores.clear()

    def renew(self, tiers: Mapping[str, Tier]) -> None:
        """Open what the index holds now."""
        self.readers, self.broken = {}, {}
        for name in self.stores.keys() - tiers.keys():  # the index was begun anew, and has no such vectors yet
            self.stores.pop(name)[1].close()
        for name, tier in tiers.items():
            if name not in self.stores or self.stores[name][0].folder != tier.folder:
                self.stores[name] = (tier, tier.open(self.folder))
            self.stores[name] = (tier, self.stores[name][1])
            try:
                tier.check_there(self.folder)
                self.readers[name] = self.stores[name][1].reader()
            except WatersmeetError as error:
                self.broken[name] = error


class Shown:
    """The vector stores as far as a viewer may see their rows, and what each model has not seen yet of these."""

    def __init__(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        import numpy as np

        live = np.array(rows, dtype=np.int64)
        self._stores, self._broken = shelf.stores, dict(shelf.broken)
        self.coverage: dict[str, float] = dict.fromkeys(shelf.broken, 1.0)  # asked, their answer says what is wrong
        """The share of the rows that each model has seen."""
        self._readers: dict[str, Any] = {}
        self._known: dict[str, RowArray] = {}
        self._missing: dict[str, RowArray] = {}
        for name, reader in shelf.readers.items():
            try:
                held = reader.has(live)
            except WatersmeetError as error:
                self._broken[name], self.coverage[name] = error, 1.0
                continue
            self._known[name], self._missing[name] = live[held], live[~held]
            self._readers[name] = reader.counting(live[held]) if name == SPARSE else reader
            self.coverage[name] = float(held.mean()) if len(live) else 1.0

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
            how = {"static": "sync", SPARSE: f"deepen --tier {SPARSE}"}.get(name, "deepen")
            raise ModelProblem(f"the index holds no {name} vectors", f"make them with `watersmeet {how}`")
        share, enough = self.coverage[name], settings.section("index").take_part
        if share < enough:
            raise ModelProblem(
                f"it has seen {percent(share)} of the chunks, and votes from {percent(enough)} on",
                "`watersmeet deepen` makes the vectors that are missing",
            )
        model = model_of(settings, name, component)
        self._stores[name][0].check(model)
        return LiveMeanings(self._readers[name], view, model, self._known[name], self._missing[name], stand_in)
