"""Everything that could be wrong with the files of an index, looked at."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

from watersmeet.core.errors import IndexBusy, IndexDamaged, NoIndex, WatersmeetError
from watersmeet.core.index import CURRENT_TIERS, Check, Tier
from watersmeet.core.visibility import EVERYONE, audience_gates
from watersmeet.store.local._connect import ANEW, FORMAT, is_read_only
from watersmeet.store.local._file_checks import mark, unmark
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local._turns import writer_lock
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.snapshot import Make, check_there, store_of

FEW = 10_000
"""So many replaced rows cost nobody anything."""
MENDED = "run `watersmeet sync`: it makes the words again from the catalogue"
REREAD = f"run `watersmeet sync`: it reads the files again that this came from. If that does not help, {ANEW}"
TOLD = 5
"""How many things that are wrong with the catalogue are named."""


def check_files(folder: str, make: Make) -> list[Check]:
    try:
        view = DocumentsView(folder)
    except WatersmeetError as error:
        return [Check("index", False, str(error), error.hint)]
    with closing(view):
        checks = [_catalogue(folder, view)]
        try:
            checks += _stores(folder, make, view)
        except WatersmeetError as error:
            checks.append(Check("stores", False, str(error), error.hint))
    return [*checks, _disk(folder), _lock(folder)]


def _catalogue(folder: str, view: DocumentsView) -> Check:
    """What is damaged there is marked: the next sync reads the files again that it came from."""
    problems = view.check()
    if not problems:
        unmark(folder)
        return Check("catalogue", True, "sound")
    mark(folder, "; ".join(problems))
    more = f"; and {len(problems) - TOLD} more" if len(problems) > TOLD else ""
    return Check("catalogue", False, "; ".join(problems[:TOLD]) + more, REREAD)


def _stores(folder: str, make: Make, view: DocumentsView) -> Iterator[Check]:
    with view.transaction():
        facts, meta = view.statistics(), view.meta()
        shared, private = view.shared(), view.needed(audience_gates(EVERYONE))
        built = json.loads(meta.get("fingerprint", "{}"))
        if not built:
            return
        tiers = [Tier(**found) for found in json.loads(meta.get(CURRENT_TIERS, "{}")).values()]
        left = [facts.chunks - round(view.seen_share(tier.folder, tier.rows) * facts.chunks) for tier in tiers]
    if view.format < FORMAT:
        said = f"format {view.format}, of an earlier version; it answers"
        yield Check("format", True, said, "the next `watersmeet sync` upgrades it; ids and vectors stay")
    yield _text(folder, make, built.get("text", ""), meta["text_folder"], shared)
    if private:
        yield _private(meta)
    for tier, missing in zip(tiers, left, strict=True):
        yield _vectors(folder, make, tier, facts.chunks, missing)
    dead = facts.dead / max(1, facts.chunks + facts.dead)
    fine = facts.dead < FEW or dead < 0.5
    hint = "" if fine else "run `watersmeet sync` again; it compacts"
    yield Check("replaced rows", fine, f"{facts.dead} ({dead:.0%}) wait for compaction", hint)


def _text(folder: str, make: Make, kind: str, text_folder: str, live: int) -> Check:
    """The text store must never lack a live row."""
    try:
        store = make(kind)(folder=os.path.join(folder, text_folder))
    except WatersmeetError as error:
        return Check("text store", False, str(error), ANEW)
    try:
        with closing(store):
            size = _verified(store).reader().size
    except (NoIndex, IndexDamaged) as error:
        return Check("text store", False, str(error), MENDED)
    except WatersmeetError as error:
        return Check("text store", False, str(error), error.hint)
    ok = size >= live
    return Check("text store", ok, f"{kind}: {size} rows for {live} live chunks", "" if ok else MENDED)


def _private(meta: dict[str, str]) -> Check:
    """Whether what is counted for everyone is of what everyone may see."""
    ok = meta.get(PUBLIC_TEXT) == meta["text_folder"]
    said = "in a place of their own" if ok else "the words of private entities count in everyone's scores"
    return Check("private words", ok, said, "" if ok else "the next `watersmeet sync` or `register` moves them")


def _vectors(folder: str, make: Make, tier: Tier, chunks: int, left: int) -> Check:
    """A vector store may lack rows, for a while; it must be readable."""
    name = f"{tier.name} vectors"
    try:
        check_there(tier, folder)
        with closing(store_of(tier, folder, make)) as store:
            _verified(store).reader()
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)
    detail = f"{tier.model}: {chunks - left} of {chunks} live chunks"
    return Check(
        name,
        True,
        detail,
        "a running `serve` or `mcp` makes the rest by itself, `watersmeet deepen` at once" if left else "",
    )


def _verified(store: Any) -> Any:
    """A store whose files have all been read and compared with their sums. One that is damaged is marked."""
    try:
        store.verify()
    except IndexDamaged as error:
        mark(store.folder, str(error))
        raise
    return store


def _disk(folder: str) -> Check:
    free, size = shutil.disk_usage(folder).free, size_of(folder)
    ok = free > max(50_000_000, size // 4)
    return Check("disk", ok, f"{size / 1e6:.1f} MB used, {free / 1e9:.1f} GB free", "" if ok else "make room")


def _lock(folder: str) -> Check:
    if is_read_only(folder):
        return Check("writer", True, "nobody can write: the index is read-only, and can be searched")
    try:
        with writer_lock(folder, 0):
            return Check("writer", True, "nobody is writing")
    except IndexBusy as error:
        return Check("writer", True, str(error))


def size_of(folder: str) -> int:
    size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # another process may be writing
                size += os.path.getsize(os.path.join(path, name))
    return size
