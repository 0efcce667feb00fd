"""Which part of the index does the query belong to? Ordered rules; the first that matches adds its filters.

    [query.route]
    rules = [{ match = "python|django", filters = { sdk = "python" } }]

`match` is a regular expression as `core.regular` understands them: linear in time, whatever the case. The filters
hold beside those of the request, in every signal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import Plan
from watersmeet.core.options import option

if TYPE_CHECKING:
    from watersmeet.core.regular import Regular

Filters = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Route:
    """Narrows the plan's condition."""

    rules: list[dict[str, Any]] = option([], "each `{match = pattern, filters = {key = value or values}}`, in order")
    _compiled: tuple[tuple[Any, Filters], ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compiled = tuple(_rule(number, rule) for number, rule in enumerate(self.rules, 1))
        object.__setattr__(self, "_compiled", compiled)  # frozen for all others

    def apply(self, plan: Plan) -> Plan:
        for pattern, filters in self._compiled:
            if pattern.occurs_in(plan.text):
                condition = plan.condition
                for key, values in filters.items():
                    condition = condition.narrowed(key, values)
                return replace(plan, condition=condition)
        return plan


def _rule(number: int, rule: dict[str, Any]) -> tuple[Regular, Filters]:
    from watersmeet.core.regular import BadPattern, Regular  # few have rules

    where = f"query.route: rule {number}"
    for key in rule:
        if key not in ("match", "filters"):
            raise ConfigError(f"{where} has no setting {key!r}", nearest(key, ("match", "filters")))
    match, filters = rule.get("match"), rule.get("filters")
    if not isinstance(match, str) or not match:
        raise ConfigError(f"{where} has no pattern", 'give it one, such as match = "python|django"')
    if not isinstance(filters, dict) or not filters:
        raise ConfigError(f"{where} has no filters", 'give it some, such as filters = {sdk = "python"}')
    try:
        return Regular(match), {key: _values(where, key, value) for key, value in filters.items()}
    except BadPattern as problem:
        raise ConfigError(f"{where}: {match!r}: {problem}", "see [query.route] in the settings' reference") from None


def _values(where: str, key: str, value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(one, str) and one.strip() for one in values):
        raise ConfigError(f"{where}: the filter {key!r} cannot be {value!r}", "give a text or a list of texts")
    return tuple(values)
