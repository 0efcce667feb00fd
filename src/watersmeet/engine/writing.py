"""An index opened for writing, wherever it is kept: what it is built with, and whether that fits the settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.core.facts import KEPT
from watersmeet.core.model import Row
from watersmeet.core.writing import Writer
from watersmeet.engine.batch import Batch
from watersmeet.engine.components import build
from watersmeet.engine.healing import diagnosed
from watersmeet.engine.local import local, tighten_cache
from watersmeet.engine.opening import check_fingerprint, fingerprint
from watersmeet.engine.place import open_index
from watersmeet.engine.relocate import gone_hint
from watersmeet.engine.settings import Settings, WriterSettings
from watersmeet.engine.tiers import all_tiers, check_models, drop


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
def writing(folder: str, settings: Settings, *, recreate: bool = False) -> Iterator[Writing]:
    """Open the index for writing, made if there is none; refuse to mix what does not belong together."""
    opened = local("opening").opened(folder, _opening(folder, settings), recreate)
    with diagnosed(open_index(folder), settings), opened as writer:
        tighten_cache(folder)
        index = Writing(writer, settings.section("writer"))
        again = json.loads(writer.meta().get(KEPT, "[]"))
        if again:
            from watersmeet.engine.registry.writing import restore

            restore(index, again)
            writer.set_meta({KEPT: "[]"})
        yield index


def _opening(folder: str, settings: Settings) -> Any:
    """What the settings say about an index that is to be written."""
    wanted = fingerprint(settings)
    writer = settings.section("writer")

    def check(meta: Mapping[str, str]) -> None:
        check_fingerprint(json.loads(meta["fingerprint"]), wanted)
        check_models(settings, meta)

    def drop_rows(meta: Mapping[str, str], rows: Sequence[Row]) -> None:
        for tier in all_tiers(meta):
            drop(tier, folder, rows, settings)

    return local("writer").Opening(
        fingerprint=json.dumps(wanted, sort_keys=True),
        check=check,
        check_roots=_check_there,
        text=settings.section("index").text,
        open_text=lambda kind, place: build("store", kind, settings.of("store", kind), folder=place),
        drop=drop_rows,
        lock_seconds=writer.lock_seconds,
        grace_seconds=writer.grace_seconds,
    )


def _check_there(roots: Sequence[str]) -> None:
    """Nothing is begun anew that could not be read again."""
    for path in roots:
        if os.path.isabs(path) and not os.path.exists(path):
            raise SourceProblem(f"{path} is gone", f"mount it; {gone_hint(path)}")
