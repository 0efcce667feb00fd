"""Health checks of the files of an index, for `doctor`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from watersmeet.core.errors import IndexBusy, IndexDamaged, NoIndex, WatersmeetError
from watersmeet.core.index import CURRENT_TIERS, Check, Tier
from watersmeet.core.visibility import EVERYONE, audience_gates
from watersmeet.store.local._connect import FORMAT, RECREATE_HINT, is_read_only
from watersmeet.store.local._file_checks import mark, unmark
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local._turns import writer_lock
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.sizes import catalogue_sizes, sizes_of
from watersmeet.store.local.snapshot import Make, check_vectors_exist, store_of

FEW_DEAD_ROWS = 10_000
"""Fewer replaced rows than this need no compaction."""
REBUILD_WORDS_HINT = "run `watersmeet sync`: it rebuilds the text store from the catalogue"
REREAD_HINT = (
    f"run `watersmeet sync`: it reads the damaged documents' files again. If that does not help, {RECREATE_HINT}"
)
MAX_NAMED_PROBLEMS = 5
"""How many problems of the catalogue are listed."""
MAX_NAMED_TABLES = 4
"""How many tables of the catalogue are listed with their size."""


def check_files(folder: str, make: Make) -> list[Check]:
    try:
        snapshot = DocumentsView(folder)
    except WatersmeetError as error:
        return [Check("index", False, str(error), error.hint)]
    with closing(snapshot):
        checks = [_catalogue(folder, snapshot)]
        try:
            checks += _stores(folder, make, snapshot)
        except WatersmeetError as error:
            checks.append(Check("stores", False, str(error), error.hint))
        checks.append(_disk(folder, snapshot))
    return [*checks, _lock(folder)]


def _catalogue(folder: str, snapshot: DocumentsView) -> Check:
    """Checks the catalogue. Damage is marked: the next sync reads the documents' files again."""
    problems = snapshot.check()
    if not problems:
        unmark(folder)
        return Check("catalogue", True, "sound")
    mark(folder, "; ".join(problems))
    more = f"; and {len(problems) - MAX_NAMED_PROBLEMS} more" if len(problems) > MAX_NAMED_PROBLEMS else ""
    return Check("catalogue", False, "; ".join(problems[:MAX_NAMED_PROBLEMS]) + more, REREAD_HINT)


def _stores(folder: str, make: Make, snapshot: DocumentsView) -> Iterator[Check]:
    with snapshot.transaction():
        facts, meta = snapshot.statistics(), snapshot.meta()
        shared, private = snapshot.shared(), snapshot.needed(audience_gates(EVERYONE))
        built = json.loads(meta.get("fingerprint", "{}"))
        if not built:
            return
        tiers = [Tier(**found) for found in json.loads(meta.get(CURRENT_TIERS, "{}")).values()]
        left = [facts.chunks - round(snapshot.embedded_share(tier.folder, tier.rows) * facts.chunks) for tier in tiers]
    if snapshot.format < FORMAT:
        description = f"format {snapshot.format}, of an earlier version; it can be searched"
        yield Check("format", True, description, "the next `watersmeet sync` upgrades it; ids and vectors are kept")
    yield _text(folder, make, built.get("text", ""), meta["text_folder"], shared)
    if private:
        yield _private(meta)
    for tier, missing in zip(tiers, left, strict=True):
        yield _vectors(folder, make, tier, facts.chunks, missing)
    dead = facts.dead / max(1, facts.chunks + facts.dead)
    fine = facts.dead < FEW_DEAD_ROWS or dead < 0.5
    hint = "" if fine else "run `watersmeet sync` again; it compacts"
    yield Check("replaced rows", fine, f"{facts.dead} ({dead:.0%}) wait for compaction", hint)


def _text(folder: str, make: Make, kind: str, text_folder: str, live: int) -> Check:
    """Checks that the text store has every live public row."""
    try:
        store = make(kind)(folder=os.path.join(folder, text_folder))
    except WatersmeetError as error:
        return Check("text store", False, str(error), RECREATE_HINT)
    try:
        with closing(store):
            size = _verified(store).reader().size
    except (NoIndex, IndexDamaged) as error:
        return Check("text store", False, str(error), REBUILD_WORDS_HINT)
    except WatersmeetError as error:
        return Check("text store", False, str(error), error.hint)
    ok = size >= live
    return Check("text store", ok, f"{kind}: {size} rows for {live} live chunks", "" if ok else REBUILD_WORDS_HINT)


def _private(meta: dict[str, str]) -> Check:
    """Checks that the text store's statistics cover public rows only."""
    ok = meta.get(PUBLIC_TEXT) == meta["text_folder"]
    description = (
        "stored apart from the text store" if ok else "the words of private entities count in everyone's scores"
    )
    return Check("private words", ok, description, "" if ok else "the next `watersmeet sync` or `register` moves them")


def _vectors(folder: str, make: Make, tier: Tier, chunks: int, left: int) -> Check:
    """Checks that a vector store is readable; it may lack rows for a while."""
    name = f"{tier.name} vectors"
    try:
        check_vectors_exist(tier, folder)
        with closing(store_of(tier, folder, make)) as store:
            _verified(store).reader()
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)
    detail = f"{tier.model}: {chunks - left} of {chunks} live chunks"
    return Check(
        name,
        True,
        detail,
        "a running `serve` or `mcp` embeds the rest in the background, `watersmeet deepen` at once" if left else "",
    )


def _verified(store: Any) -> Any:
    """A store after all its files were compared with their checksums. A damaged one is marked."""
    try:
        store.verify()
    except IndexDamaged as error:
        mark(store.folder, str(error))
        raise
    return store


def _disk(folder: str, snapshot: DocumentsView) -> Check:
    """Checks for free space, and says what takes how much: the largest tables of the catalogue, and the stores."""
    parts = sizes_of(folder)
    free, size, chunks = shutil.disk_usage(folder).free, sum(parts.values()), snapshot.statistics().chunks
    ok = free > max(50_000_000, size // 4)
    detail = f"{size / 1e6:.1f} MB used, {free / 1e9:.1f} GB free"
    if chunks:
        tables = {f"table {name}": size for name, size in list(catalogue_sizes(snapshot).items())[:MAX_NAMED_TABLES]}
        ((stored,),) = snapshot.query("SELECT coalesce(sum(length(CAST(text AS BLOB))), 0) FROM chunks")
        sizes = {**parts, **tables, "texts in it": stored, "not compressed": snapshot.text_bytes()}
        each = ", ".join(f"{part} {size / chunks:,.0f}" for part, size in sizes.items())
        detail += f"; bytes a chunk: {each}"
    return Check("disk", ok, detail, "" if ok else "make room")


def _lock(folder: str) -> Check:
    if is_read_only(folder):
        return Check("writer", True, "the index is read-only; it can be searched")
    try:
        with writer_lock(folder, 0):
            return Check("writer", True, "nobody is writing")
    except IndexBusy as error:
        return Check("writer", True, str(error))
