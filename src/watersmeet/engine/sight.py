"""An index as one viewer sees it: words, links, entities, vectors and the statistics of them are of nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import NoIndex
from watersmeet.core.model import Condition
from watersmeet.core.ports import Entities, Links, TextReader, Words
from watersmeet.engine.calibration.taught import Lessons
from watersmeet.engine.components import Later
from watersmeet.engine.modes import VECTORS
from watersmeet.engine.named_state import CALIBRATION, state_of
from watersmeet.engine.pipeline import Pipeline
from watersmeet.engine.settings import Settings
from watersmeet.engine.tiers import Tier
from watersmeet.store.local.live import LiveWords
from watersmeet.store.local.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.engine.meanings import Shelf, Shown

Assemble = Callable[[Settings, tuple[str, ...], tuple[str, ...] | None, dict[str, Any]], Pipeline]


class Sight:
    """Good until something is committed. `seen` is empty for those from whom nothing is withheld.

    `public_only`: of what is made for all viewers at once, only what is made of what everyone may see.
    `public_text`: the text store never held a row that not everyone may see; of an older index that is not known, and
    then its statistics are of all rows.
    """

    def __init__(
        self,
        folder: str,
        view: SqliteView,
        seen: Condition,
        public_only: bool,
        text: TextReader | None,
        public_text: bool,
        tiers: Mapping[str, Tier],
        shelf: Callable[[], Shelf],
        assemble: Assemble,
    ) -> None:
        self._folder, self.view, self.seen = folder, view, seen
        self._public_only, self._text, self._public_text = public_only, text, public_text
        self._tiers, self._shelf, self._assemble = tiers, shelf, assemble
        self._pipelines: dict[tuple[str, tuple[str, ...], tuple[str, ...] | None], Pipeline] = {}

    @cached_property
    def words(self) -> Words | None:
        """The words of the index; None if nothing was ever synced into it."""
        if self._text is None:
            return None
        aside = None
        if self.view.withholds():
            from watersmeet.store.local.withheld import WithheldWords

            aside = WithheldWords(self.view, self.seen, self._text)
        return LiveWords(self._text, self.view, aside if aside and aside.size else None, self._public_text)

    @cached_property
    def entities(self) -> Entities:
        """The entities of the index, if there is a registry in it."""
        from watersmeet.store.local.entities import LiveEntities

        if self._text is None:
            raise NoIndex(f"nothing was ever put into {self._folder}", "fill it with `watersmeet register FILE`")
        return LiveEntities(self.view, self.seen)

    @cached_property
    def links(self) -> Links:
        from watersmeet.store.local.graph import LiveLinks

        return LiveLinks(self.view, self.seen)

    @cached_property
    def count(self) -> int:
        """How many documents there are."""
        return self.view.count(self.seen)

    @property
    def coverage(self) -> Mapping[str, float]:
        """The share of the chunks that each model has seen; empty if there are no vectors."""
        return self._vectors.coverage if self._tiers else {}

    @property
    def levels(self) -> dict[str, float]:
        """How near the chunks are to one another, by each model."""
        return {name: tier.public_level if self._public_only else tier.level for name, tier in self._tiers.items()}

    @cached_property
    def _vectors(self) -> Shown:
        from watersmeet.engine.meanings import Shown  # numpy is loaded here and not before

        return Shown(self._shelf(), self.view.live_rows(self.seen))

    def pipeline(self, settings: Settings, signals: tuple[str, ...], stages: tuple[str, ...] | None = None) -> Pipeline:
        """The query path for these settings; `stages` go before those of the recipe."""
        if self._text is None:
            raise NoIndex(f"nothing was ever synced into {self._folder}", "fill it with `watersmeet sync PATH`")
        key = (settings.recipe, signals, stages)
        if key not in self._pipelines:
            ports: dict[str, Any] = {
                "words": self.words,
                "view": self.view,
                "links": Later(lambda: self.links),
                "entities": Later(lambda: self.entities),
                "pairs": Later(lambda: _pairs(settings)),
                "taught": Later(lambda: Lessons(state_of(self._folder, CALIBRATION), settings)),
            }
            if any(signal in VECTORS for signal in signals):
                from watersmeet.engine.vocabulary import LiveConcepts

                ports |= self._vectors.ports(settings, self.view)
                states = partial(state_of, self._folder)
                ports["concepts"] = LiveConcepts(states, settings, self._tiers, whole=not self._public_only)
            self._pipelines[key] = self._assemble(settings, signals, stages, ports)
        return self._pipelines[key]


def _pairs(settings: Settings) -> Any:
    from watersmeet.engine.pairs import Readers

    return Readers(settings)
