"""The vectors and weighted terms of an index: one store for each model, and what the index knows about each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from watersmeet.core.errors import ConfigError, IndexMismatch, ModelProblem
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, TIERS_BEFORE_REBUILD, Index, Tier
from watersmeet.engine.components import find, names
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from watersmeet.engine.models import GuardedEmbedder, GuardedEncoder

    Model = GuardedEmbedder | GuardedEncoder

TIERS = ("static", "sparse", "dense")
"""From the quickest to the best; each is a signal of the same name."""
BY_ITSELF = "a running `watersmeet serve` or `mcp` makes them by itself"
MISSING = f"{BY_ITSELF}, while nobody asks; `watersmeet deepen` makes them now"
"""What to do about vectors that are missing."""
SPARSE = "sparse"
"""The tier whose model gives weighted terms, where the others' give vectors."""


class Store(Protocol):
    """What all tiers' stores can do. Readers and writers take and give what the tier's model makes."""

    @property
    def folder(self) -> str: ...
    def reader(self) -> Any: ...
    def writer(self) -> Any: ...
    def verify(self) -> None: ...
    def close(self) -> None: ...


def outdated(tier: Tier, model: Model) -> bool:
    """Whether an earlier file of this model made the vectors: they still answer, and are to be made again."""
    return tier.fingerprint in model.replaces


def check(tier: Tier, model: Model) -> None:
    """Vectors of another model are never compared with these. A model that is broken says so itself."""
    if tier.fingerprint != model.fingerprint and not outdated(tier, model) and model.ready():
        raise IndexMismatch(
            f"the index was embedded with {tier.model}, and the settings now give {model.name} or other options",
            f"set [embed] back, or build anew with `watersmeet sync --recreate` ({tier.name})",
        )


def check_dimension(tier: Tier, model: Model, dimension: int) -> None:
    """An endpoint may change its model and keep the name: what it gives is looked at before it is kept."""
    if dimension != tier.dimension:
        raise ModelProblem(
            f"{model.name} gives vectors of {dimension} numbers, and the index holds vectors of {tier.dimension}",
            "use the model that it was built with, or run `watersmeet sync --recreate`",
        )


def tiers_of(meta: Mapping[str, str], key: str = CURRENT_TIERS) -> dict[str, Tier]:
    return {name: Tier(**facts) for name, facts in json.loads(meta.get(key, "{}")).items()}


def all_tiers(meta: Mapping[str, str]) -> list[Tier]:
    """Those that answer and those that are being made to replace them."""
    return [*tiers_of(meta).values(), *tiers_of(meta, NEXT_TIERS).values()]


def with_tier(meta: Mapping[str, str], tier: Tier, key: str = CURRENT_TIERS) -> dict[str, str]:
    """The meta entry in which this tier stands as it is now."""
    return _entry(key, tiers_of(meta, key) | {tier.name: tier})


def replaced(meta: Mapping[str, str], tier: Tier) -> dict[str, str]:
    """The meta entries in which a tier that was being made has taken the place of the one before."""
    waiting = {name: other for name, other in tiers_of(meta, NEXT_TIERS).items() if name != tier.name}
    return with_tier(meta, tier) | _entry(NEXT_TIERS, waiting)


def _entry(key: str, tiers: Mapping[str, Tier]) -> dict[str, str]:
    return {key: json.dumps({name: asdict(value) for name, value in tiers.items()}, sort_keys=True)}


def embedder_name(settings: Settings, tier: str) -> str:
    """Which embedder a tier uses; empty if it is switched off."""
    index = settings.section("index")
    name: str = getattr(index, tier) if index.vectors else ""
    return name


def is_remote(settings: Settings, tier: str) -> bool:
    """Whether the tier's model is on another machine, which may not answer."""
    return _declares(settings, tier, "remote")


def is_quick(settings: Settings, tier: str) -> bool:
    """Whether the tier's model takes next to no time, for a text as for a query."""
    return _declares(settings, tier, "quick")


def _declares(settings: Settings, tier: str, what: str) -> bool:
    component = embedder_name(settings, tier)
    return bool(component) and getattr(find("embed", component), what, False)


def store_of(tier: str) -> str:
    return "postings" if tier == SPARSE else "vectors"


def due(settings: Settings, meta: Mapping[str, str], deep: bool = True) -> list[str]:
    """The tiers that a sync brings up to date; unless it is `deep`, only the first and those of quick models.

    Sparse vectors only if somebody asked for them once, or if the settings let them vote."""
    voting = (*settings.section("pipeline").signals, *settings.section("registry").signals)
    tiers = TIERS if SPARSE in (*voting, *known_tiers(meta)) else tuple(tier for tier in TIERS if tier != SPARSE)
    return [tier for tier in tiers if deep or tier == TIERS[0] or is_quick(settings, tier)]


def askable(coverage: Mapping[str, float], voting: Sequence[str], settings: Settings) -> Mapping[str, float]:
    """Coverage, with sparse vectors that have a vote and are missing or too few as if they were there: asked, they say
    how they are made."""
    few = coverage.get(SPARSE, 0.0) < settings.section("index").min_coverage
    absent = SPARSE in voting and few and embedder_name(settings, SPARSE)
    return {**coverage, SPARSE: 1.0} if absent else coverage


def known_tiers(meta: Mapping[str, str]) -> list[str]:
    """The tiers that the index has, or had before it was made anew."""
    return sorted({*tiers_of(meta), *json.loads(meta.get(TIERS_BEFORE_REBUILD, "[]"))})


def model_of(settings: Settings, tier: str, component: str) -> Model:
    """The model of this name, if it is of the sort that the tier needs."""
    from watersmeet.engine.models import embedder, encoder

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
                check(tier, model_of(settings, name, component))


def new_tier(name: str, model: Model, index: Index, facts: Mapping[str, str], replaces: str = "") -> Tier:
    """A tier as it will be. `replaces`: the store of one that is damaged, which queries may still read."""
    store = index.name_vectors(name, model.fingerprint, facts, replaces)
    return Tier(name, model.name, model.fingerprint, model.dimension, store)
