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
        fusion = settings.section("pipeline").fusion
        self._prior = tuple(sorted(settings.of("fusion", fusion).get("weights", {}).items()))

    def weights(self, collection: str) -> Mapping[str, float]:
        try:
            when = os.stat(os.path.join(self._folder, FILE)).st_mtime_ns
        except OSError:
            return {}
        return _weights(self._folder, when, self._prior, collection)


@lru_cache(maxsize=64)
def _weights(folder: str, when: int, prior: tuple[tuple[str, float], ...], collection: str) -> Mapping[str, float]:
    from watersmeet.engine.calibration.keeping import WHOLE, load

    beliefs = load(folder).beliefs
    belief = beliefs.get(collection, beliefs.get(WHOLE))
    return belief.weights(dict(prior)) if belief else {}
