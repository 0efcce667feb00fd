"""An index opened for writing: the lock, the fingerprint, the stores, compaction."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.indexing import TextWriter
from watersmeet.engine.lock import writable, writer_lock
from watersmeet.engine.mending import KEPT, mend, next_folder, registered
from watersmeet.engine.opening import check_fingerprint, fingerprint, open_text
from watersmeet.engine.settings import Settings, WriterSettings
from watersmeet.engine.tiers import check_models, drop, tiers_of
from watersmeet.store.catalogue import Catalogue

STORES = ("text-", "vectors-")
"""How the folders of the other stores are called."""


@dataclass(slots=True)
class Writing:
    """What a writer works with while it holds the lock."""

    catalogue: Catalogue
    text: TextWriter
    folder: str
    settings: WriterSettings
    mended: bool = False
    """Whether the words had to be made again."""

    def compact(self, grace: float | None = None, share: float | None = None) -> int:
        """Delete from the text store the rows that have been dead for longer than a query may last."""
        rows = self.catalogue.dead(time.time() - (self.settings.grace_seconds if grace is None else grace))
        _, live = self.catalogue.counts()
        if not rows or len(rows) < (self.settings.compact_share if share is None else share) * (live + len(rows)):
            return 0
        self.text.drop(rows)
        self.text.commit()
        for tier in tiers_of(self.catalogue.meta()).values():
            drop(tier, self.folder, rows)
        self.catalogue.bury(rows)
        return len(rows)


@contextmanager
def writing(folder: str, settings: Settings, *, recreate: bool = False) -> Iterator[Writing]:
    """Open the index for writing, made if there is none; refuse to mix what does not belong together."""
    writer = settings.section("writer")
    with writer_lock(folder, writer.lock_seconds), ExitStack() as stack:
        catalogue = _open_catalogue(folder, recreate)
        stack.callback(catalogue.close)
        meta, fresh = _settled(catalogue, settings, recreate)
        kind = settings.section("index").text
        mended = {} if fresh else mend(catalogue, kind, meta)
        meta |= mended
        _sweep(folder, meta, writer.grace_seconds)
        store = open_text(kind, folder, meta["text_folder"])
        stack.callback(store.close)
        text = store.writer()
        stack.callback(text.close)
        if fresh:
            meta |= registered(catalogue, meta)
            catalogue.clear(meta)  # only now: the catalogue never names a store that is not there
        catalogue.reclaim()
        index = Writing(catalogue, text, folder, writer, bool(mended))
        if meta.get(KEPT, "[]") != "[]":
            from watersmeet.engine.registry.writing import restore

            restore(index, json.loads(meta[KEPT]))
            catalogue.set_meta({KEPT: "[]"})
        yield index


def _open_catalogue(folder: str, recreate: bool) -> Catalogue:
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with writable(folder), open(ignore, "w", encoding="utf8") as file:
            file.write("*\n")
    try:
        return Catalogue(folder)
    except (IndexDamaged, IndexMismatch):
        if not recreate:
            raise
    for name in os.listdir(folder):
        if name.startswith("catalogue.db"):
            os.unlink(os.path.join(folder, name))
    return Catalogue(folder)


def _settled(catalogue: Catalogue, settings: Settings, recreate: bool) -> tuple[dict[str, str], bool]:
    """The index's own facts, once it is certain that they fit the settings; and whether it is to begin anew."""
    meta = catalogue.meta()
    wanted = fingerprint(settings)
    if "fingerprint" not in meta or recreate:
        _retire(catalogue.folder)
        text = next_folder(catalogue.folder, meta.get("text_folder", "text-0"))
        meta |= {"fingerprint": json.dumps(wanted, sort_keys=True), "text_folder": text, "tiers": "{}"}
        return meta, True
    check_fingerprint(json.loads(meta["fingerprint"]), wanted)
    check_models(settings, meta)
    return meta, False


def _retire(folder: str) -> None:
    """Queries of this moment may still have to open the stores that are about to be replaced."""
    for name in os.listdir(folder):
        if name.startswith(STORES):
            os.utime(os.path.join(folder, name))


def _sweep(folder: str, meta: Mapping[str, str], grace: float) -> None:
    """Remove the stores of before a rebuild, once no query can still read them."""
    current = {meta["text_folder"], *(tier.folder for tier in tiers_of(meta).values())}
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        old = name.startswith(STORES) and name not in current
        if old and os.path.getmtime(path) < time.time() - grace:
            shutil.rmtree(path, ignore_errors=True)
