"""An index opened for writing, wherever it is kept: what it is built with, and whether that fits the settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from watersmeet.core.errors import IndexProblem, SourceProblem
from watersmeet.core.index import WAITING_RECORDS, Index
from watersmeet.core.writing import Writer, WriterOptions
from watersmeet.engine.index.damage import diagnose
from watersmeet.engine.index.fingerprint import check_fingerprint, fingerprint
from watersmeet.engine.index.tiers import check_models
from watersmeet.engine.settings.settings import Settings, WriterSettings
from watersmeet.engine.sync.batch import Batch
from watersmeet.engine.sync.relocate import gone_hint
from watersmeet.engine.sync.sources import Sources


@dataclass(slots=True)
class IndexWriter:
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
def open_for_writing(index: Index, settings: Settings, *, recreate: bool = False) -> Iterator[IndexWriter]:
    """Open the index for writing, made if there is none; refuse to mix what does not belong together."""
    if not hasattr(index, "writer"):
        raise IndexProblem(f"{index.place} can only be searched", "write to it where it is kept")
    with diagnose(index, settings), index.writer(_opening(index, settings), recreate) as writer:
        opened = IndexWriter(writer, settings.section("writer"))
        again = json.loads(writer.meta().get(WAITING_RECORDS, "[]"))
        if again:
            from watersmeet.engine.registry.register import restore

            restore(opened, again)
            writer.set_meta({WAITING_RECORDS: "[]"})
        yield opened


def _opening(index: Index, settings: Settings) -> WriterOptions:
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

    return WriterOptions(wanted, check, check_there, writer.lock_seconds, writer.grace_seconds)
