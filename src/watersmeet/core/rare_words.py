"""Rare words of a query: those that few entities of a registry mention."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.core.boosts import query_words, singular
from watersmeet.core.model import Plan
from watersmeet.core.ports import Entities, Mention


def rare_mentions(
    entities: Entities, plan: Plan, kinds: Sequence[str], share: float, always: int
) -> dict[str, list[Mention]]:
    """Query words that at most this share of the entities of these kinds mention, or at most `always` of them.

    Each comes with its mentions; words that none mentions are left out.
    """
    counts = entities.kinds()
    most = int(max(always, share * sum(counts.get(kind, 0) for kind in kinds)))
    condition = plan.condition.narrowed("kind", tuple(kinds))
    found = {singular(w): entities.mentioning([w], condition, most + 1) for w in query_words(plan.text)}
    return {word: mentions for word, mentions in found.items() if 0 < len(mentions) <= most}
