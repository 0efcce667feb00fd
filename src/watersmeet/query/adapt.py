"""Weights of semantic and keyword signals by the share of identifiers in the query: more identifiers, more keywords.

ADR-003's option B: the share of identifiers among the tokens that are not question words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from watersmeet.core.errors import ConfigError
from watersmeet.core.identifiers import read
from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import Words


@dataclass(frozen=True, slots=True)
class Adapt:
    """A query step that sets the plan's weights; several signals of a side share its weight."""

    classifies: ClassVar[bool] = True

    words: Words | None = None
    semantic: tuple[str, ...] = option(("dense",), "the semantic signals")
    keyword: tuple[str, ...] = option(("keyword",), "the keyword signals")
    many: float = option(0.5, "above this share of identifiers, `if_many` applies")
    some: float = option(0.2, "above this share, `if_some` applies, else `if_few`")
    if_many: tuple[float, ...] = option(
        (0.3, 0.7), "weights of the semantic and the keyword side where identifiers are many"
    )
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
        """Weights of the semantic and of the keyword side."""
        share = read(text, self.words).share
        semantic, keyword = self.if_many if share > self.many else self.if_some if share > self.some else self.if_few
        return semantic, keyword


def _shared(signals: Sequence[str], weight: float) -> dict[str, float]:
    return {signal: weight / len(signals) for signal in signals}
