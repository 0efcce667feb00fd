"""An index opened for writing, wherever it is kept: what it is built with, and whether that fits the settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from watersmeet.core.errors import IndexProblem, SourceProblem
from watersmeet.core.facts import KEPT
from watersmeet.core.index import Index
from watersmeet.core.writing import Opening, Writer
from watersmeet.engine.batch import Batch
from watersmeet.engine.healing import diagnosed
from watersmeet.engine.opening import check_fingerprint, fingerprint
from watersmeet.engine.relocate import gone_hint
from watersmeet.engine.settings import Settings, WriterSettings
from watersmeet.engine.sources import Sources
from watersmeet.engine.tiers import check_models


@dataclass(slots=True)
class Writing:
    """What a writer works with."""

    catalogue: Writer
    settings: WriterSettings

    def batch(self) -> Batch:
        return Batch(self.catalogue, self.settings.batch_chunks, self.settings.batch_seconds)

    def compact(self, grace: float | None = None, share: float | None = None) -> int:
        """Free what replaced rows take, once they are so large a share of the whole; how many there were.

        It is the last thing that a writer does."""
        return self.catalogue.compact(
            self.settings.grace_seconds if grace is None else grace,
            self.settings.compact_share if share is None else share,
        )


@contextmanager
def writing(index: Index, settings: Settings, *, recreate: bool = False) -> Iterator[Writing]:
    """Open the index for writing, made if there is none; refuse to mix what does not belong together."""
    if not hasattr(index, "writer"):
        raise IndexProblem(f"{index.place} can only be searched", "write to it where it is kept")
    with diagnosed(index, settings), index.writer(_opening(index, settings), recreate) as writer:
        opened = Writing(writer, settings.section("writer"))
        again = json.loads(writer.meta().get(KEPT, "[]"))
        if again:
            from watersmeet.engine.registry.writing import restore

            restore(opened, again)
            writer.set_meta({KEPT: "[]"})
        yield opened


def _opening(index: Index, settings: Settings) -> Opening:
    """What the settings say about an index that is to be written."""
    wanted = fingerprint(settings, index.format)
    writer = settings.section("writer")

    def check(meta: Mapping[str, str]) -> None:
        check_fingerprint(json.loads(meta["fingerprint"]), wanted)
        check_models(settings, meta)

    def check_there(places: Sequence[str]) -> None:
        """Nothing is begun anew that could not be read again."""
        for place in Sources(settings).gone(places):
            raise SourceProblem(f"{place} is gone", f"mount it; {gone_hint(place)}")

    return Opening(wanted, check, check_there, writer.lock_seconds, writer.grace_seconds)
