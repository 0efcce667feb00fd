"""An index opened for writing: the lock, the fingerprint, the stores, compaction."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from watersmeet.core.errors import IndexBusy, IndexDamaged, IndexMismatch, SourceProblem
from watersmeet.core.files import private
from watersmeet.core.indexing import TextWriter
from watersmeet.engine.healing import diagnosed, heal
from watersmeet.engine.lock import tighten_index, writer_lock
from watersmeet.engine.mending import KEPT, mend, next_folder, registered, rewrite
from watersmeet.engine.opening import check_fingerprint, fingerprint, open_text
from watersmeet.engine.place import open_index
from watersmeet.engine.relocate import gone_hint
from watersmeet.engine.settings import Settings, WriterSettings
from watersmeet.engine.tiers import AGAIN, CURRENT, NEXT, all_tiers, check_models, drop, known_tiers
from watersmeet.store.local._connect import FILE, guarded
from watersmeet.store.local._intact import unmark
from watersmeet.store.local._lockfile import writable
from watersmeet.store.local._records import sound
from watersmeet.store.local._sums import damage
from watersmeet.store.local._withheld import PUBLIC_TEXT, shared
from watersmeet.store.local.catalogue import Catalogue

STORES = ("text-", "vectors-")
"""How the folders of the other stores are called."""


@dataclass(slots=True)
class Writing:
    """What a writer works with while it holds the lock."""

    catalogue: Catalogue
    text: TextWriter
    folder: str
    settings: WriterSettings
    all_settings: Settings
    covered: list[str]
    """Where the roots lie that the index had when it was opened, also if its catalogue was lost."""
    mended: bool = False
    """Whether the words had to be made again."""

    def compact(self, grace: float | None = None, share: float | None = None) -> int:
        """Free what replaced rows take, once they are so large a share of the whole; how many there were.

        It is the last thing that a writer does. Words are written anew, and the other stores let go of what has been
        dead for longer than a query may last.
        """
        share = self.settings.compact_share if share is None else share
        rows = self.catalogue.dead(time.time() - (self.settings.grace_seconds if grace is None else grace))
        _, live = self.catalogue.counts()
        wasted = self.text.held() - shared(self.catalogue.db)
        meta = self.catalogue.meta()
        freed = 0
        if wasted > 0 and wasted >= share * (live + wasted):
            self.text.close()
            rewrite(self.catalogue, self.all_settings, json.loads(meta["fingerprint"])["text"], meta)
            freed = wasted
        if rows and len(rows) >= share * (live + len(rows)):
            for tier in all_tiers(meta):
                drop(tier, self.folder, rows, self.all_settings)
            self.catalogue.bury(rows)
            freed = max(freed, len(rows))
        return freed


@contextmanager
def writing(folder: str, settings: Settings, *, recreate: bool = False) -> Iterator[Writing]:
    """Open the index for writing, made if there is none; refuse to mix what does not belong together.

    If something that was public has become private, the text store is then made again without its words."""
    with _opened(folder, settings, recreate) as index:
        yield index
        exposed = not index.catalogue.meta().get(PUBLIC_TEXT, "unknown")
    if exposed:
        with suppress(IndexBusy), _opened(folder, settings, False):  # whoever is writing now has done it
            pass


@contextmanager
def _opened(folder: str, settings: Settings, recreate: bool) -> Iterator[Writing]:
    writer = settings.section("writer")
    with writer_lock(folder, writer.lock_seconds), diagnosed(open_index(folder), settings), ExitStack() as stack:
        tighten_index(folder)
        stack.callback(tighten_index, folder)
        catalogue, covered = _open_catalogue(folder, recreate)
        stack.callback(catalogue.close)
        catalogue.settle()
        meta, fresh = _settled(catalogue, settings, recreate)
        kind = settings.section("index").text
        meta |= {} if fresh else heal(catalogue, meta)
        mended = {} if fresh else mend(catalogue, settings, kind, meta)
        meta |= mended
        _sweep(folder, meta, writer.grace_seconds)
        store = open_text(kind, folder, meta["text_folder"], settings)
        stack.callback(store.close)
        text = store.writer()
        stack.callback(text.close)
        if fresh:
            meta |= registered(catalogue, meta)
            catalogue.clear(meta)  # only now: the catalogue never names a store that is not there
            unmark(folder)
        if PUBLIC_TEXT not in meta:  # of an index that had no private row yet
            catalogue.set_meta({PUBLIC_TEXT: meta["text_folder"]})
        catalogue.reclaim()
        index = Writing(catalogue, text, folder, writer, settings, covered, bool(mended))
        if meta.get(KEPT, "[]") != "[]":
            from watersmeet.engine.registry.writing import restore

            restore(index, json.loads(meta[KEPT]))
            catalogue.set_meta({KEPT: "[]"})
        yield index


def _open_catalogue(folder: str, recreate: bool) -> tuple[Catalogue, list[str]]:
    """The catalogue, made again if it is damaged and may be; and where the roots lie."""
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with writable(folder), open(ignore, "w", encoding="utf8", opener=private) as file:
            file.write("*\n")
    kept: dict[str, str] = {}
    former: dict[str, tuple[str, str]] = {}
    names: set[str] = set()
    covered: list[str] = []
    try:
        catalogue = Catalogue(folder)
        with ExitStack() as undo:
            undo.callback(catalogue.close)
            try:
                with guarded(catalogue.path):
                    covered = [root.path for root in catalogue.roots()]
            except IndexDamaged:
                if not recreate:
                    raise
            if recreate:
                _check_there(covered)
            if not recreate or not damage(catalogue.db):
                undo.pop_all()
                return catalogue, covered
            kept, former, names = _rescued(catalogue)
    except (IndexDamaged, IndexMismatch):
        if not recreate:
            raise
    there = os.listdir(folder)
    kept.setdefault(AGAIN, json.dumps(sorted({name.split("-")[1] for name in there if name.startswith("vectors-")})))
    for name in there:
        if name.startswith(FILE):
            os.unlink(os.path.join(folder, name))
    catalogue = Catalogue(folder)
    catalogue.set_meta(kept)
    catalogue.remember(former, names)
    return catalogue, covered


def _check_there(roots: Sequence[str]) -> None:
    """Nothing is begun anew that could not be read again."""
    for path in roots:
        if not os.path.exists(path):
            raise SourceProblem(f"{path} is gone", f"mount it; {gone_hint(path)}")


def _rescued(catalogue: Catalogue) -> tuple[dict[str, str], dict[str, tuple[str, str]], set[str]]:
    """What is registered, where the next row and text store go, and the roots of now and before with their names and
    prefixes, and what their ids began with, as far as a damaged catalogue still says."""
    kept: dict[str, str] = {}
    former: dict[str, tuple[str, str]] = {}
    names: set[str] = set()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        former |= catalogue.former_roots()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        names |= catalogue.former_names()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        for root in catalogue.roots():
            former[root.path] = (root.name, root.prefix)
            names |= catalogue.beginnings(root)
    with suppress(sqlite3.DatabaseError, ValueError):
        kept[KEPT] = json.dumps(sound(catalogue.db))
    with suppress(IndexDamaged):
        meta = catalogue.meta()
        kept |= {key: value for key, value in meta.items() if key in ("next_row", "text_folder")}
        with suppress(ValueError, TypeError):
            kept[AGAIN] = json.dumps(known_tiers(meta))
    return kept, former, names


def _settled(catalogue: Catalogue, settings: Settings, recreate: bool) -> tuple[dict[str, str], bool]:
    """The index's own facts, once it is certain that they fit the settings; and whether it is to begin anew."""
    meta = catalogue.meta()
    wanted = fingerprint(settings)
    if "fingerprint" not in meta or recreate:
        _retire(catalogue.folder)
        text = next_folder(catalogue.folder, meta.get("text_folder", "text-0"))
        meta[AGAIN] = json.dumps(known_tiers(meta))
        meta |= {"fingerprint": json.dumps(wanted, sort_keys=True), "text_folder": text, CURRENT: "{}", NEXT: "{}"}
        meta[PUBLIC_TEXT] = text
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
    current = {meta["text_folder"], *(tier.folder for tier in all_tiers(meta))}
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        old = name.startswith(STORES) and name not in current
        if old and os.path.getmtime(path) < time.time() - grace:
            shutil.rmtree(path, ignore_errors=True)
