"""Counts of chunks without vectors, which a server embeds in the background."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import ModelProblem
from watersmeet.core.index import NEXT_TIERS
from watersmeet.engine.index.tiers import TIERS, due, embedder_name, known_tiers, model_of, outdated, tiers_of

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine


def pending_chunks(engine: Engine) -> dict[str, int]:
    """Number of chunks without vectors, for each tier that a sync keeps up to date.

    Empty for an index of an earlier version, which only a writer upgrades, and for one without any vectors: it was made
    with `--no-vectors`, and the next sync adds them. Vectors of an earlier file of a model count as missing."""
    with engine.snapshot() as snapshot:
        facts, found = snapshot.facts(), {}
        words_only = bool(embedder_name(engine.settings, TIERS[0])) and not known_tiers(facts)
        if snapshot.outdated or words_only:
            return {}
        chunks = snapshot.statistics().chunks
        for name in due(engine.settings, facts):
            component = embedder_name(engine.settings, name)
            following, tier = tiers_of(facts, NEXT_TIERS).get(name), snapshot.tiers().get(name)
            if not component:
                continue
            left = chunks if tier is None else snapshot.left(tier)
            if following is not None:  # at least 1: replacing the old tier is still to do
                left = max(1, snapshot.left(following))
            elif tier is not None and not left:
                with suppress(ModelProblem):
                    left = chunks if outdated(tier, model_of(engine.settings, name, component)) else 0
            if left:
                found[name] = left
    return found


def can_embed(engine: Engine) -> bool:
    """Whether vectors can be made: the settings enable them, and the index is writable."""
    index = engine.index
    if not engine.settings.section("index").vectors or not hasattr(index, "writer"):
        return False
    return (
        index.remote
        or not os.path.isdir(index.place)
        or os.access(index.place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    )
