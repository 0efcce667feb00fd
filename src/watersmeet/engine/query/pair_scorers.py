"""Models that read query and text together, by name, each loaded once and guarded as the others are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watersmeet.engine.models import Guard
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from watersmeet.embed.crossencoder import Crossencoder


@dataclass(frozen=True, slots=True)
class PairScorers:
    """The `pairs` port of the stages, under these settings."""

    settings: Settings

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]:
        guard: Guard[Crossencoder] = Guard.made("crossencoder", self.settings.of("embed", "crossencoder"), model)
        return guard.ask(lambda reader: reader.score(query, texts))
