"""Sparse vectors on demand: made when a command first asks for them, and not by every sync.

A server does not make them while somebody waits: its answer names them as a failure, with the command that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem
from watersmeet.engine.index.tiers import SPARSE, embedder_name

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import ProgressCallback


def lacks_sparse(engine: Engine, mode: str, signals: Sequence[str] = ()) -> bool:
    """Whether a search in this mode asks for sparse vectors, and too few are there for it.

    `signals`: what votes, if not what the settings say."""
    settings = engine.settings
    voting = signals or settings.section("pipeline").signals
    asked = mode == SPARSE or (mode in ("", "hybrid") and SPARSE in voting)
    if not asked or not embedder_name(settings, SPARSE):
        return False
    with engine.snapshot() as snapshot:
        if snapshot.outdated:
            return False  # whoever only looks changes nothing: an older version beside this one goes on
        share = engine.visible_index(snapshot, None).coverage.get(SPARSE, 0.0)
    return bool(share < settings.section("index").min_coverage)


def make_sparse(engine: Engine, progress: ProgressCallback) -> None:
    """Make them. If the index cannot be written the search goes on, and its answer names what is missing."""
    with suppress(IndexProblem):
        engine.deepen(progress, tiers=(SPARSE,))
