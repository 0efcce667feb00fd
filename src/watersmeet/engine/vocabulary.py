"""The concept vocabulary of an index: gathered after a sync, and asked by meaning."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watersmeet.core import tokens
from watersmeet.core.model import Row
from watersmeet.engine.models import embedder
from watersmeet.engine.settings import Settings
from watersmeet.engine.tiers import Tier, embedder_name, tiers_of
from watersmeet.store import vocabulary
from watersmeet.store.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix

TIER = "static"
WINDOW = 4096
"""How many chunks are read at a time."""
MOST_CHUNKS = 20_000
"""Of more chunks, so many that lie evenly among them: they hold the frequent terms as well, in about a second."""
SPARE = 100
"""Looked at beyond those wanted: the nearest terms to a query are often its own words in other forms."""


def refresh(folder: str, settings: Settings) -> None:
    """Gather the terms anew if what is live has changed by enough."""
    if not embedder_name(settings, TIER):
        return
    view = SqliteView(folder)
    try:
        with view.moment():
            tier = tiers_of(view.meta()).get(TIER)
            rows = view.live_rows()
            held = vocabulary.load(folder)
            if tier is None or not rows or (held is not None and held.is_current(rows, tier.fingerprint)):
                return
            counted = vocabulary.gather(_texts(view, spread(rows, MOST_CHUNKS)))
    finally:
        view.close()
    vocabulary.save(folder, counted, len(rows), rows[-1], tier.fingerprint)


def spread(rows: Sequence[Row], most: int) -> Sequence[Row]:
    """At most so many, evenly from the first on."""
    return rows if len(rows) <= most else [rows[n * len(rows) // most] for n in range(most)]


def _texts(view: SqliteView, rows: Sequence[Row]) -> Iterator[str]:
    for start in range(0, len(rows), WINDOW):
        for _, _, headings, text in view.texts(rows[start : start + WINDOW]):
            yield "\n".join((*headings, text))


@dataclass(slots=True)
class LiveConcepts:
    """The `Concepts` port; nothing is read before it is asked. Without a vocabulary there is nothing near."""

    folder: str
    settings: Settings
    tiers: Mapping[str, Tier]
    _held: tuple[float, list[str], Matrix] | None = field(default=None, init=False)

    def near(self, text: str, limit: int) -> list[str]:
        name = embedder_name(self.settings, TIER)
        if not name or TIER not in self.tiers:
            return []
        held = self._vocabulary(name)
        if held is None:
            return []
        import numpy as np

        terms, matrix = held
        cosines = matrix @ embedder(self.settings, name).embed_query(text)
        many = min(len(terms), limit + SPARE)
        nearest = np.argpartition(-cosines, many - 1)[:many]
        said, found = tokens.words(text), list[str]()
        for n in sorted(nearest.tolist(), key=lambda n: (-cosines[n], n)):
            if cosines[n] > 0 and len(found) < limit and not any(_alike(terms[n], word) for word in (*said, *found)):
                found.append(terms[n])
        return found

    def _vocabulary(self, name: str) -> tuple[list[str], Matrix] | None:
        """As long as its file is the same, it is read once."""
        try:
            stamp = os.stat(os.path.join(self.folder, vocabulary.FILE)).st_mtime
        except OSError:
            return None
        if self._held is None or self._held[0] != stamp:
            found = vocabulary.load(self.folder)
            model = embedder(self.settings, name)
            if found is None or not found.terms or found.model != model.fingerprint:
                return None
            self._held = (stamp, found.terms, vocabulary.vectors(self.folder, found, model))
        return self._held[1:]


def _alike(term: str, word: str) -> bool:
    """Whether they are one word in two forms, as far as their beginnings tell: `rotate`, `rotation`."""
    shared = next((n for n, (a, b) in enumerate(zip(term, word, strict=False)) if a != b), min(len(term), len(word)))
    return shared >= max(vocabulary.SHORTEST, min(len(term), len(word)) - 2)
