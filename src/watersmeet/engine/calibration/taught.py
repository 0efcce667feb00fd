"""The weights that evidence gives, read again only when there is more of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.engine.settings import Settings

FILE = "calibration.json"


class Lessons:
    """The `Taught` port of an index. An index without evidence costs a query one look at the folder."""

    def __init__(self, folder: str, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings

    def weights(self, collections: tuple[str, ...]) -> Mapping[str, float]:
        try:
            when = os.stat(os.path.join(self._folder, FILE)).st_mtime_ns
        except OSError:
            return {}
        return _weights(self._folder, when, tuple(prior_of(self._settings).items()), collections)


def prior_of(settings: Settings) -> dict[str, float]:
    """The weights that the settings give, before any evidence."""
    from watersmeet.engine.calibration.belief import SIGNALS

    weights = settings.of("fusion", settings.section("pipeline").fusion).get("weights", {})
    return {name: float(weights.get(name, 1.0)) for name in SIGNALS}


@lru_cache(maxsize=64)
def _weights(
    folder: str, when: int, prior: tuple[tuple[str, float], ...], collections: tuple[str, ...]
) -> Mapping[str, float]:
    """What was learnt elsewhere says nothing of some collections: only what they have taught themselves counts."""
    from watersmeet.engine.calibration.belief import together
    from watersmeet.engine.calibration.keeping import WHOLE, load

    beliefs = load(folder).beliefs
    asked = {name.casefold() for name in collections} or {WHOLE}
    found = [belief for name, belief in beliefs.items() if name.casefold() in asked]
    return together(found).weights(dict(prior)) if found else {}
