"""How much the models of an index have still to read: what a server embeds in the background."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import ModelProblem
from watersmeet.core.fact_names import NEXT
from watersmeet.engine.index.tiers import TIERS, due, embedder_name, known_tiers, model_of, outdated, tiers_of

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine


def pending_chunks(engine: Engine) -> dict[str, int]:
    """How many chunks each tier's model has still to read, of the tiers that a sync brings up to date.

    Nothing of an index of an earlier version, which only a writer upgrades, and nothing of one without any vectors: it
    was made with `--no-vectors`, and the next sync adds them. What an earlier file of a model has read is read anew."""
    with engine.snapshot() as snapshot:
        facts, found = snapshot.facts(), {}
        words_only = bool(embedder_name(engine.settings, TIERS[0])) and not known_tiers(facts)
        if snapshot.outdated or words_only:
            return {}
        chunks = snapshot.statistics().chunks
        for name in due(engine.settings, facts):
            component = embedder_name(engine.settings, name)
            following, tier = tiers_of(facts, NEXT).get(name), snapshot.tiers().get(name)
            if not component:
                continue
            left = chunks if tier is None else snapshot.left(tier)
            if following is not None:  # its last step is to take the other's place
                left = max(1, snapshot.left(following))
            elif tier is not None and not left:
                with suppress(ModelProblem):
                    left = chunks if outdated(tier, model_of(engine.settings, name, component)) else 0
            if left:
                found[name] = left
    return found


def can_embed(engine: Engine) -> bool:
    """Whether vectors can be made at all: the settings want them, and the index can be written."""
    index = engine.index
    if not engine.settings.section("index").vectors or not hasattr(index, "writer"):
        return False
    return (
        index.remote
        or not os.path.isdir(index.place)
        or os.access(index.place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    )
