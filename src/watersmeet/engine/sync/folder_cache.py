"""Sync of the index of `--in`, which is only a cache of its folder."""

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
