"""The vectors and weighted terms of an index: one store for each model, and what the index knows about each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from watersmeet.core.errors import ConfigError, IndexMismatch, ModelProblem
from watersmeet.core.model import Row
from watersmeet.engine.components import find, names
from watersmeet.engine.settings import Settings

if TYPE_CHECKING:
    from watersmeet.engine.encoders import GuardedEncoder
    from watersmeet.engine.models import Guarded

    Model = Guarded | GuardedEncoder

TIERS = ("static", "sparse", "dense")
"""From the quickest to the best; each is a signal of the same name."""
SPARSE = "sparse"
"""The tier whose model gives weighted terms, where the others' give vectors."""
QUICK = ("static", "terms")
"""What is made at once, also when the deep vectors are left for later: a tier, or whichever has this model."""


GARBAGE = 0.3
"""The share of dead vectors from which on the files are written anew."""


class Store(Protocol):
    """What all tiers' stores can do. Readers and writers take and give what the tier's model makes."""

    def reader(self) -> Any: ...
    def writer(self) -> Any: ...
    def close(self) -> None: ...


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
    level: float = 0.0  # how near the chunks are to one another: the usual cosine of a chunk and its tenth neighbour
    level_rows: int = 0  # how many there were when that was measured

    def check(self, model: Model) -> None:
        """Vectors of another model are never compared with these. A model that is broken says so itself."""
        if self.fingerprint != model.fingerprint and model.ready():
            raise IndexMismatch(
                f"the index was embedded with {self.model}, and the settings now give {model.name} or other options",
                f"set [embed] back, or build anew with `watersmeet sync --recreate` ({self.name})",
            )

    def fits(self, model: Model, dimension: int) -> None:
        """An endpoint may change its model and keep the name: what it gives is looked at before it is kept."""
        if dimension != self.dimension:
            raise ModelProblem(
                f"{model.name} gives vectors of {dimension} numbers, and the index holds vectors of {self.dimension}",
                "use the model that it was built with, or run `watersmeet sync --recreate`",
            )

    def open(self, index: str) -> Store:
        from watersmeet.store.postings import Postings
        from watersmeet.store.vectors import Vectors

        folder = os.path.join(index, self.folder)
        return Postings(folder) if self.name == SPARSE else Vectors(folder, self.dimension)


def tiers_of(meta: Mapping[str, str]) -> dict[str, Tier]:
    return {name: Tier(**facts) for name, facts in json.loads(meta.get("tiers", "{}")).items()}


def with_tier(meta: Mapping[str, str], tier: Tier) -> dict[str, str]:
    """The meta entry in which this tier stands as it is now."""
    tiers = tiers_of(meta) | {tier.name: tier}
    return {"tiers": json.dumps({name: asdict(value) for name, value in tiers.items()}, sort_keys=True)}


REMOTE = frozenset({"openai"})
"""Embedders that ask another machine, which may not answer."""


def embedder_name(settings: Settings, tier: str) -> str:
    """Which embedder a tier uses; empty if it is switched off."""
    index = settings.section("index")
    name: str = getattr(index, tier) if index.vectors else ""
    return name


def quick(settings: Settings) -> list[str]:
    """The tiers that even a sync without deepening makes."""
    return [tier for tier in TIERS if tier in QUICK or embedder_name(settings, tier) in QUICK]


def model_of(settings: Settings, tier: str, component: str) -> Model:
    """The model of this name, if it is of the sort that the tier needs."""
    from watersmeet.engine.encoders import encoder
    from watersmeet.engine.models import embedder

    method, gives = ("encode", "weighted terms") if tier == SPARSE else ("embed", "vectors")
    if not hasattr(find("embed", component), method):
        others = [name for name in names("embed") if hasattr(find("embed", name), method)]
        raise ConfigError(f"index.{tier} names {component!r}, which gives no {gives}", f"use {' or '.join(others)}")
    return encoder(settings, component) if tier == SPARSE else embedder(settings, component)


def check_models(settings: Settings, meta: Mapping[str, str]) -> None:
    """Refuse to go on with other models than the index has; one that is missing is no reason to stop."""
    for name, tier in tiers_of(meta).items():
        component = embedder_name(settings, name)
        with suppress(ModelProblem):
            if component:
                tier.check(model_of(settings, name, component))


def new_tier(name: str, model: Model, meta: Mapping[str, str]) -> Tier:
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
