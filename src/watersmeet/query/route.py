"""Query router: ordered rules that add filters, weights or a choice of signals; the first match counts.

    [query.route]
    rules = [
        { match = "python|django", filters = { sdk = "python" } },
        { match = "how do I", weights = { dense = 1.0 } },
        { match = "^ERR-", only = ["lexical", "exact"] },
    ]

`match` is a regular expression of `common.patterns`: linear in time, ignoring case. A rule adds one or more of three
things: `filters`, in addition to those of the request, for every signal; `weights`, which override the fusion's;
`only`, the signals to run (if none of them can run in this index, all do). The answer says which rule matched and what
it added (`Plan.routed`).
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan, RouteMatch
from watersmeet.core.options import check_weights, option

if TYPE_CHECKING:
    from watersmeet.common.patterns import Regular

ADDS = ("filters", "weights", "only")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Route:
    """A query step that adds the filters, weights and signals of the first matching rule."""

    rules: list[dict[str, Any]] = option(
        [],
        "each `{match = pattern}` with `filters = {key = value or values}`, `weights = {signal = weight}` or"
        " `only = [signals]`, in order: the first that matches counts",
    )
    _compiled: tuple[tuple[Any, RouteMatch], ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compiled = tuple(_rule(number, rule) for number, rule in enumerate(self.rules, 1))
        object.__setattr__(self, "_compiled", compiled)  # a frozen dataclass

    def apply(self, plan: Plan) -> Plan:
        routed = next((routed for pattern, routed in self._compiled if pattern.occurs_in(plan.text)), None)
        if routed is None or routed in plan.routed:
            return plan
        condition = plan.condition
        for key, values in routed.filters.items():
            if key.endswith("!"):
                condition = replace(condition, without=(*condition.without, (key.removesuffix("!"), values)))
            else:
                condition = condition.narrowed(key, values)
        return replace(
            plan,
            condition=condition,
            weights={**plan.weights, **routed.weights},
            only=routed.only or plan.only,
            routed=(*plan.routed, routed),
        )


def _rule(number: int, rule: dict[str, Any]) -> tuple[Regular, RouteMatch]:
    from watersmeet.common.patterns import BadPattern, Regular  # lazy: few settings have rules

    where = f"query.route: rule {number}"
    for key in rule:
        if key not in ("match", *ADDS):
            raise ConfigError(f"{where} has no setting {key!r}", nearest(key, ("match", *ADDS)))
    match = rule.get("match")
    if not isinstance(match, str) or not match:
        raise ConfigError(f"{where} has no pattern", 'give it one, such as match = "python|django"')
    if not any(rule.get(key) for key in ADDS):
        hint = 'give it some, such as filters = {sdk = "python"}, weights = {lexical = 2.0} or only = ["exact"]'
        raise ConfigError(f"{where} has no filters, weights or signals", hint)
    try:
        pattern = Regular(match)
    except BadPattern as problem:
        raise ConfigError(f"{where}: {match!r}: {problem}", "see [query.route] in the settings' reference") from None
    filters = {key: _texts(where, f"the filter {key!r}", one) for key, one in _table(where, rule, "filters").items()}
    only = rule.get("only") or []
    if not isinstance(only, list):
        raise ConfigError(f"{where}: only cannot be {only!r}", 'give a list of signals, such as ["exact"]')
    only = _texts(where, "only", only) if only else ()
    return pattern, RouteMatch(number, match, filters, _weights(where, _table(where, rule, "weights")), only)


def _table(where: str, rule: dict[str, Any], key: str) -> dict[str, Any]:
    table = rule.get(key) or {}
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: {key} cannot be {table!r}", f"{key} is a table, such as {{name = value}}")
    return table


def _weights(where: str, table: dict[str, Any]) -> dict[str, float]:
    for name, weight in table.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ConfigError(f"{where}: weights.{name} cannot be {weight!r}", "give a number of 0 or more")
    check_weights(f"{where}: weights", table)
    return {name: float(weight) for name, weight in table.items()}


def _texts(where: str, what: str, value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(one, str) and one.strip() for one in values):
        raise ConfigError(f"{where}: {what} cannot be {value!r}", "give a text or a list of texts")
    return tuple(values)
