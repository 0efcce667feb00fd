"""Syncs before a search: of the index of `--in`, which is only a cache of its folder, and of the folders of others."""

from __future__ import annotations

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.report import ProgressCallback, SyncReport


def sync_folder_cache(engine: Engine, path: str, progress: ProgressCallback | None = None) -> SyncReport:
    """Sync the cached index of a folder; one that this version cannot use is recreated silently."""
    try:
        return engine.sync([path], deepen=False, progress=progress)
    except (IndexDamaged, IndexMismatch):
        return engine.sync([path], deepen=False, recreate=True, progress=progress)


def sync_folders(engine: Engine, progress: ProgressCallback | None = None) -> SyncReport:
    """Sync the folders of an index, and no network: words and static vectors."""
    from watersmeet.engine.sync.roots import sync_parts
    from watersmeet.engine.sync.scan_record import is_watchable, roots_of

    progress = progress or (lambda _: None)
    folders = {root.path: "" for root in roots_of(engine.index) if is_watchable(root)}
    if not folders:
        return SyncReport()
    report = sync_parts(engine.index, engine.settings, folders, progress)
    embedded = engine.deepen(progress, deep=False)
    report.embedded, report.cached = embedded.embedded, embedded.cached
    report.warnings += embedded.warnings
    return report
