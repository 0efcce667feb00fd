"""Opening an index for writing, with a check that it fits the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from watersmeet.core.errors import IndexProblem, SourceProblem
from watersmeet.core.index import WAITING_RECORDS, Index
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.writing import Put, Writer, WriterOptions
from watersmeet.engine.index.damage import diagnose
from watersmeet.engine.index.fingerprint import check_fingerprint, fingerprint
from watersmeet.engine.index.tiers import check_models
from watersmeet.engine.settings.settings import Settings, WriterSettings
from watersmeet.engine.sync.batch import FIRST_SECONDS, Batch
from watersmeet.engine.sync.relocate import gone_hint
from watersmeet.engine.sync.sources import Sources


@dataclass(slots=True)
class IndexWriter:
    """An index open for writing."""

    catalogue: Writer
    settings: WriterSettings
    on_put: Callable[[Put], None] = lambda put: None
    """Callback for each document that is to be stored."""

    def batch(self) -> Batch:
        """A batch of changes; the first ones of a new index are small, so that it can soon be searched."""
        made = Batch(self.catalogue, self.settings.batch_chunks, self.settings.batch_seconds)
        made.on_put = self.on_put
        if not self.catalogue.counts()[0]:
            made.seconds = FIRST_SECONDS
        return made

    def compact(self, grace: float | None = None, share: float | None = None) -> int:
        """Free the space of replaced rows, if their share is large enough; returns how many.

        Call it last."""
        return self.catalogue.compact(
            self.settings.grace_seconds if grace is None else grace,
            self.settings.compact_share if share is None else share,
        )


@contextmanager
def open_for_writing(index: Index, settings: Settings, *, recreate: bool = False) -> Iterator[IndexWriter]:
    """Open an index for writing, and create it if needed. Raises if it was built with other settings or models."""
    if not hasattr(index, "writer"):
        raise IndexProblem(f"{index.place} can only be searched", "write to it on the machine that has it")
    with diagnose(index, settings), index.writer(writer_options(index, settings), recreate) as writer:
        opened = IndexWriter(writer, settings.section("writer"))
        again = json.loads(writer.meta().get(WAITING_RECORDS, "[]"))
        if again:
            from watersmeet.engine.registry.register import restore

            restore(opened, again)
            writer.set_meta({WAITING_RECORDS: "[]"})
        yield opened


@contextmanager
def open_preview(index: Index, settings: Settings) -> Iterator[IndexWriter]:
    """Open an index for a dry run: what is written to it is dropped. Raises as `open_for_writing` does."""
    if not hasattr(index, "preview"):
        raise IndexProblem(f"{index.place} cannot be previewed", "sync it without a dry run")
    with diagnose(index, settings), index.preview() as preview:
        if "fingerprint" in (facts := preview.meta()):
            writer_options(index, settings).check(facts)
        yield IndexWriter(cast(Writer, preview), settings.section("writer"))


def writer_options(index: Index, settings: Settings) -> WriterOptions:
    """Writer options from the settings."""
    current = fingerprint(settings, index.format)
    writer = settings.section("writer")

    def check(meta: Mapping[str, str]) -> None:
        check_fingerprint(json.loads(meta["fingerprint"]), current)
        check_models(settings, meta)

    def check_places(places: Sequence[str]) -> None:
        """Raise before recreating an index whose files no longer exist."""
        for place in Sources(settings).gone(places):
            raise SourceProblem(f"{place} does not exist", f"mount it; {gone_hint(place)}")

    return WriterOptions(current, check, check_places, writer.lock_seconds, writer.grace_seconds)
