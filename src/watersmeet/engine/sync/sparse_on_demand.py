"""Sparse vectors on demand: made when a command first needs them, not by every sync.

A server does not make them during a request: its answer has a failure with the command that does.
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
    """Whether a search in this mode needs sparse vectors and the index has too few.

    `signals`: the signals in use, if not those of the settings."""
    settings = engine.settings
    voting = signals or settings.section("pipeline").signals
    needed = mode == SPARSE or (mode in ("", "hybrid") and SPARSE in voting)
    if not needed or not embedder_name(settings, SPARSE):
        return False
    with engine.snapshot() as snapshot:
        if snapshot.outdated:
            return False  # a search does not upgrade the index, which an older version may still use
        share = engine.visible_index(snapshot, None).coverage.get(SPARSE, 0.0)
    return bool(share < settings.section("index").min_coverage)


def make_sparse(engine: Engine, progress: ProgressCallback) -> None:
    """Make sparse vectors. If the index cannot be written, the search goes on without them and reports a failure."""
    with suppress(IndexProblem):
        engine.deepen(progress, tiers=(SPARSE,))
