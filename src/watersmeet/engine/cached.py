"""The index of `--in`, which is only a cache of its folder."""

from __future__ import annotations

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.engine.engine import Engine
from watersmeet.engine.report import SyncReport, Tell


def in_step(engine: Engine, path: str, tell: Tell | None = None) -> SyncReport:
    """Bring it up to date; one that this version cannot use is made anew, and nobody need know."""
    try:
        return engine.sync([path], deepen=False, tell=tell)
    except (IndexDamaged, IndexMismatch):
        return engine.sync([path], deepen=False, recreate=True, tell=tell)
