"""Learned fusion weights, cached until the evidence changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.core.index import State
    from watersmeet.engine.settings.settings import Settings


class StoredWeights:
    """The `weight_source` port. Without evidence it costs a query one read of the state's version."""

    def __init__(self, state: State, settings: Settings) -> None:
        self._state = state
        self._settings = settings

    def weights(self, collections: tuple[str, ...]) -> Mapping[str, float]:
        version = self._state.version()
        if version is None:
            return {}
        return _weights(self._state, version, tuple(prior_of(self._settings).items()), collections)


def prior_of(settings: Settings) -> dict[str, float]:
    """Weights of the settings, without evidence."""
    from watersmeet.engine.calibration.posterior import SIGNALS

    weights = settings.of("fusion", settings.section("pipeline").fusion).get("weights", {})
    return {name: float(weights.get(name, 1.0)) for name in SIGNALS}


@lru_cache(maxsize=64)
def _weights(
    state: State, version: object, prior: tuple[tuple[str, float], ...], collections: tuple[str, ...]
) -> Mapping[str, float]:
    """Weights learned in these collections only; without collections, in the whole index."""
    from watersmeet.engine.calibration.posterior import combine
    from watersmeet.engine.calibration.state import WHOLE, load

    beliefs = load(state).beliefs
    names = {name.casefold() for name in collections} or {WHOLE}
    found = [belief for name, belief in beliefs.items() if name.casefold() in names]
    return combine(found).weights(dict(prior)) if found else {}
