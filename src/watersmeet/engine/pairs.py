"""Models that read query and text together, by name, each loaded once; one that fails is left alone for a while."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from watersmeet.engine.components import build
from watersmeet.engine.models import Patience
from watersmeet.engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Readers:
    """The `pairs` port of the stages, under these settings."""

    settings: Settings

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]:
        reader, patience = _made(model, json.dumps(self.settings.of("embed", "crossencoder"), sort_keys=True))
        found: list[float] = patience.tried(lambda: reader.score(query, texts))
        return found


@cache
def _made(model: str, table: str) -> tuple[Any, Patience]:
    return build("embed", "crossencoder", json.loads(table), model=model), Patience()
