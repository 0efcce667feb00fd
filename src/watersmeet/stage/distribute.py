"""Soft cap on the share of one entity kind in the results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Entities


@dataclass(frozen=True, slots=True)
class Distribute:
    """A stage that selects the best hits with a soft cap for each kind; capped hits fill places that stay empty.

    The order is that of the scores. Kinds that were not requested, and were searched only for others, are removed.
    """

    entities: Entities
    share: float = option(0.6, "highest share of the results for one kind while other kinds have hits")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        leads = self.entities.heads([hit.chunk for hit in ranking.hits])
        hits = [hit for hit in ranking.hits if not plan.kinds or leads[hit.chunk].kind in plan.kinds]
        kept = chosen([leads[hit.chunk].kind for hit in hits], plan.top_n, self.share)
        return Ranking("distribute", tuple(hits[place] for place in kept))


def chosen(kinds: Sequence[str], most: int, share: float) -> list[int]:
    """Positions of a ranking with these kinds that are selected, in one pass."""
    cap = math.ceil(most * share)
    waiting, taken = Counter(kinds), Counter[str]()
    kept: list[int] = []
    skipped: list[int] = []
    for place, kind in enumerate(kinds):
        if len(kept) == most:
            break
        others = len(kinds) - place - waiting[kind]
        waiting[kind] -= 1
        if taken[kind] >= cap and others > 0:
            skipped.append(place)
        else:
            taken[kind] += 1
            kept.append(place)
    return sorted(kept + skipped[: most - len(kept)])
