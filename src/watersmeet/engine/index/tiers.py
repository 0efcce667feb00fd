"""Tiers of an index: static, sparse and dense vectors, each with a model, a store and facts."""

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
"""From the quickest to the best. Each has a signal of the same name."""
BY_ITSELF = "a running `watersmeet serve` or `mcp` makes them in the background"
MISSING = f"{BY_ITSELF}; `watersmeet deepen` makes them now"
"""The hint for missing vectors."""
SPARSE = "sparse"
"""The tier with weighted terms; the others have vectors."""


class Store(Protocol):
    """The common interface of tier stores. Readers and writers use the vectors or terms of the tier's model."""

    @property
    def folder(self) -> str: ...
    def reader(self) -> Any: ...
    def writer(self) -> Any: ...
    def verify(self) -> None: ...
    def close(self) -> None: ...


def outdated(tier: Tier, model: Model) -> bool:
    """Whether an earlier file of this model made the vectors: still usable, and to be made again."""
    return tier.fingerprint in model.replaces


def check(tier: Tier, model: Model) -> None:
    """Raise if the vectors were made by another model. A broken model raises its own error."""
    if tier.fingerprint != model.fingerprint and not outdated(tier, model) and model.ready():
        raise IndexMismatch(
            f"the index was embedded with {tier.model}, and the settings now name {model.name} or other options",
            f"set [embed] back, or rebuild with `watersmeet sync --recreate` ({tier.name})",
        )


def check_dimension(tier: Tier, model: Model, dimension: int) -> None:
    """Raise if vectors have another dimension: an endpoint may change its model and keep the name."""
    if dimension != tier.dimension:
        raise ModelProblem(
            f"{model.name} makes vectors of {dimension} numbers, and the index has vectors of {tier.dimension}",
            "use the model of the index, or run `watersmeet sync --recreate`",
        )


def tiers_of(meta: Mapping[str, str], key: str = CURRENT_TIERS) -> dict[str, Tier]:
    return {name: Tier(**facts) for name, facts in json.loads(meta.get(key, "{}")).items()}


def all_tiers(meta: Mapping[str, str]) -> list[Tier]:
    """Current tiers, and those being made to replace them."""
    return [*tiers_of(meta).values(), *tiers_of(meta, NEXT_TIERS).values()]


def with_tier(meta: Mapping[str, str], tier: Tier, key: str = CURRENT_TIERS) -> dict[str, str]:
    """The meta entry with the present facts of this tier."""
    return _entry(key, tiers_of(meta, key) | {tier.name: tier})


def replaced(meta: Mapping[str, str], tier: Tier) -> dict[str, str]:
    """The meta entries after a finished tier has replaced the old one."""
    waiting = {name: other for name, other in tiers_of(meta, NEXT_TIERS).items() if name != tier.name}
    return with_tier(meta, tier) | _entry(NEXT_TIERS, waiting)


def _entry(key: str, tiers: Mapping[str, Tier]) -> dict[str, str]:
    return {key: json.dumps({name: asdict(value) for name, value in tiers.items()}, sort_keys=True)}


def embedder_name(settings: Settings, tier: str) -> str:
    """The embedder of a tier; empty if it is switched off."""
    index = settings.section("index")
    name: str = getattr(index, tier) if index.vectors else ""
    return name


def is_remote(settings: Settings, tier: str) -> bool:
    """Whether the tier's model is on another machine."""
    return _declares(settings, tier, "remote")


def is_quick(settings: Settings, tier: str) -> bool:
    """Whether the tier's model takes almost no time."""
    return _declares(settings, tier, "quick")


def _declares(settings: Settings, tier: str, attribute: str) -> bool:
    component = embedder_name(settings, tier)
    return bool(component) and getattr(find("embed", component), attribute, False)


def store_of(tier: str) -> str:
    return "postings" if tier == SPARSE else "vectors"


def due(settings: Settings, meta: Mapping[str, str], deep: bool = True) -> list[str]:
    """Tiers that a sync keeps up to date; `deep=False`: only the first and those of quick models.

    Sparse vectors only if the index has had some, or if the settings use them."""
    used = (*settings.section("pipeline").signals, *settings.section("registry").signals)
    tiers = TIERS if SPARSE in (*used, *known_tiers(meta)) else tuple(tier for tier in TIERS if tier != SPARSE)
    return [tier for tier in tiers if deep or tier == TIERS[0] or is_quick(settings, tier)]


def askable(coverage: Mapping[str, float], signals: Sequence[str], settings: Settings) -> Mapping[str, float]:
    """Coverage, with missing sparse vectors that the settings use counted as complete: their signal then runs and fails
    with a hint how to make them."""
    few = coverage.get(SPARSE, 0.0) < settings.section("index").min_coverage
    absent = SPARSE in signals and few and embedder_name(settings, SPARSE)
    return {**coverage, SPARSE: 1.0} if absent else coverage


def known_tiers(meta: Mapping[str, str]) -> list[str]:
    """Tiers that the index has, or had before it was recreated."""
    return sorted({*tiers_of(meta), *json.loads(meta.get(TIERS_BEFORE_REBUILD, "[]"))})


def model_of(settings: Settings, tier: str, component: str) -> Model:
    """The model of a tier; raises if the component makes the wrong type of vectors."""
    from watersmeet.engine.models import embedder, encoder

    method, output = ("encode", "weighted terms") if tier == SPARSE else ("embed", "vectors")
    if not hasattr(find("embed", component), method):
        others = [name for name in names("embed") if hasattr(find("embed", name), method)]
        raise ConfigError(f"index.{tier} names {component!r}, which makes no {output}", f"use {' or '.join(others)}")
    return encoder(settings, component) if tier == SPARSE else embedder(settings, component)


def check_models(settings: Settings, meta: Mapping[str, str]) -> None:
    """Raise if the settings name other models than those of the index; missing models are ignored."""
    for name, tier in tiers_of(meta).items():
        component = embedder_name(settings, name)
        with suppress(ModelProblem):
            if component:
                check(tier, model_of(settings, name, component))


def new_tier(name: str, model: Model, index: Index, facts: Mapping[str, str], replaces: str = "") -> Tier:
    """Facts of a new tier. `replaces`: the store of a damaged one, which queries may still read."""
    store = index.name_vectors(name, model.fingerprint, facts, replaces)
    return Tier(name, model.name, model.fingerprint, model.dimension, store)
