"""The vectors of an index: one store for each model, and what the index knows about each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexMismatch, ModelProblem
from watersmeet.core.model import Row
from watersmeet.engine.settings import Settings

if TYPE_CHECKING:
    from watersmeet.engine.models import Guarded
    from watersmeet.store.vectors import Vectors

TIERS = ("static", "dense")
"""From the quickest to the best; each is a signal of the same name."""


GARBAGE = 0.3
"""The share of dead vectors from which on the files are written anew."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One model's vectors in one index."""

    name: str
    model: str
    fingerprint: str
    dimension: int
    folder: str
    rows: int = 0
    rate: float = 0.0  # chunks a second, when last measured

    def check(self, model: Guarded) -> None:
        """Vectors of another model are never compared with these. A model that is broken says so itself."""
        if self.fingerprint != model.fingerprint and model.dimension:
            raise IndexMismatch(
                f"the index was embedded with {self.model}, and the settings now give {model.name} or other options",
                f"set [embed] back, or build anew with `watersmeet sync --recreate` ({self.name})",
            )

    def open(self, index: str) -> Vectors:
        from watersmeet.store.vectors import Vectors

        return Vectors(os.path.join(index, self.folder), self.dimension)


def tiers_of(meta: Mapping[str, str]) -> dict[str, Tier]:
    return {name: Tier(**facts) for name, facts in json.loads(meta.get("tiers", "{}")).items()}


def with_tier(meta: Mapping[str, str], tier: Tier) -> dict[str, str]:
    """The meta entry in which this tier stands as it is now."""
    tiers = tiers_of(meta) | {tier.name: tier}
    return {"tiers": json.dumps({name: asdict(value) for name, value in tiers.items()}, sort_keys=True)}


def embedder_name(settings: Settings, tier: str) -> str:
    """Which embedder a tier uses; empty if it is switched off."""
    index = settings.section("index")
    name: str = getattr(index, tier) if index.vectors else ""
    return name


def check_models(settings: Settings, meta: Mapping[str, str]) -> None:
    """Refuse to go on with other models than the index has; one that is missing is no reason to stop."""
    from watersmeet.engine.models import embedder

    for name, tier in tiers_of(meta).items():
        component = embedder_name(settings, name)
        with suppress(ModelProblem):
            if component:
                tier.check(embedder(settings, component))


def new_tier(name: str, model: Guarded, meta: Mapping[str, str]) -> Tier:
    """A tier as it will be; its folder carries the model's fingerprint, so that no two models share one."""
    generation = meta["text_folder"].removeprefix("text-")
    folder = f"vectors-{name}-{generation}-{model.fingerprint[:8]}"
    return Tier(name, model.name, model.fingerprint, model.dimension, folder)


def drop(tier: Tier, index: str, rows: Sequence[Row]) -> None:
    """Delete dead rows, and write the files anew when much of them is dead."""
    store = tier.open(index)
    writer = store.writer()
    writer.drop(rows)
    writer.commit()
    if store.reader().garbage > GARBAGE:
        writer.compact()
    store.close()
