"""How far is the query's meaning to be trusted, and how far its words? The more identifiers, the more the words.

ADR-003's option B: the share of identifiers among the tokens that are not merely asked with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from watersmeet.core.errors import ConfigError
from watersmeet.core.identifiers import read
from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import Words


@dataclass(frozen=True, slots=True)
class Adapt:
    """Sets the plan's weights; several signals of a side share its weight."""

    words: Words | None = None
    semantic: tuple[str, ...] = option(("dense",), "the signals that know meaning")
    keyword: tuple[str, ...] = option(("keyword",), "the signals that know words")
    many: float = option(0.5, "above this share of identifiers the words count most")
    some: float = option(0.2, "above this share both sides count alike")
    if_many: tuple[float, ...] = option((0.3, 0.7), "weights of meaning and words where identifiers are many")
    if_some: tuple[float, ...] = option((0.5, 0.5), "... where they are some")
    if_few: tuple[float, ...] = option((0.7, 0.3), "... where they are few")

    def __post_init__(self) -> None:
        for name in ("if_many", "if_some", "if_few"):
            pair = getattr(self, name)
            if len(pair) != 2 or min(pair) < 0:
                raise ConfigError(f"query.adapt.{name} cannot be {list(pair)}", "give two weights, such as [0.5, 0.5]")

    def apply(self, plan: Plan) -> Plan:
        semantic, keyword = self.sides(plan.text)
        weights = {**_shared(self.semantic, semantic), **_shared(self.keyword, keyword)}
        return replace(plan, weights={**plan.weights, **weights})

    def sides(self, text: str) -> tuple[float, float]:
        """What meaning weighs, and what words weigh."""
        share = read(text, self.words).share
        semantic, keyword = self.if_many if share > self.many else self.if_some if share > self.some else self.if_few
        return semantic, keyword


def _shared(signals: Sequence[str], weight: float) -> dict[str, float]:
    return {signal: weight / len(signals) for signal in signals}
