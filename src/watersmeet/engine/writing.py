"""An index opened for writing, wherever it is kept: what it is built with, and whether that fits the settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.core.files import FOLDER_MODE
from watersmeet.core.model import Row
from watersmeet.core.writing import KEPT, Bookkeeping, Writer
from watersmeet.engine.batch import Batch
from watersmeet.engine.components import build
from watersmeet.engine.healing import diagnosed
from watersmeet.engine.opening import check_fingerprint, fingerprint
from watersmeet.engine.relocate import gone_hint
from watersmeet.engine.settings import Settings, WriterSettings, cache_folder
from watersmeet.engine.tiers import all_tiers, check_models, drop


def local(module: str) -> Any:
    """A part of the local store, by its name: it is chosen, not imported."""
    return import_module(f"watersmeet.store.local.{module}")


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
    with diagnosed(folder, settings), local("opening").opened(folder, _opening(folder, settings), recreate) as writer:
        tighten_cache(folder)
        index = Writing(writer, settings.section("writer"))
        again = json.loads(writer.meta().get(KEPT, "[]"))
        if again:
            from watersmeet.engine.registry.writing import restore

            restore(index, again)
            writer.set_meta({KEPT: "[]"})
        yield index


def bookkeeping(folder: str, wait: float) -> AbstractContextManager[Bookkeeping]:
    """The index opened to note what a model has read; `IndexBusy` if nobody gets on for so many seconds."""
    opened: AbstractContextManager[Bookkeeping] = local("opening").bookkeeping(folder, wait)
    return opened


def tighten_index(folder: str) -> None:
    """Nobody else reads an index."""
    local("_turns").tighten_index(folder)
    tighten_cache(folder)


def tighten_cache(folder: str) -> None:
    """... nor the cache, if it lies there."""
    cache = cache_folder()
    if os.path.abspath(folder).startswith(cache + "/") and os.stat(cache).st_uid == os.geteuid():
        os.chmod(cache, FOLDER_MODE)


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
        if not os.path.exists(path):
            raise SourceProblem(f"{path} is gone", f"mount it; {gone_hint(path)}")
