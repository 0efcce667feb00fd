"""Requests and filters from flags, query parameters or keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from watersmeet.common.dates import parse_date
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import EXPANSIONS, Condition, Request

MAX_RESULTS = 1000
CONDITION = ("filters", "since", "before", "exclude")
"""Options that become a condition; all faces use these names."""
Filters = Mapping[str, Any] | Iterable[str]
"""Filters: values by key, one or a list; or texts `key=value`."""


def build_request(query: Request | str, options: Mapping[str, Any]) -> Request:
    """A request from a query and options by name."""
    if not isinstance(query, Request | str):
        raise ConfigError(f"a query is a text, not {query!r}", 'for example engine.search("rotate keys")')
    valid = [field.name for field in fields(Request) if field.name != "query"]
    for name in options:
        if name not in valid and name not in CONDITION:
            raise ConfigError(f"search has no option {name!r}", nearest(name, [*valid, *CONDITION]))
    values = {name: value for name, value in options.items() if name not in CONDITION}
    if len(values) < len(options):
        if "condition" in values:
            raise ConfigError("condition and filters cannot be combined", "put all filters into one of them")
        values["condition"] = condition_of({name: value for name, value in options.items() if name in CONDITION})
    request = replace(Request(query) if isinstance(query, str) else query, **values)
    if not isinstance(request.top_n, int) or not 1 <= request.top_n <= MAX_RESULTS:
        raise ConfigError(f"top_n must be from 1 to {MAX_RESULTS}, not {request.top_n!r}")
    if not isinstance(request.offset, int) or not 0 <= request.offset <= MAX_RESULTS - request.top_n:
        hint = f"offset and top_n together can be {MAX_RESULTS}; narrow the search with filters"
        raise ConfigError(f"offset cannot be {request.offset!r} with top_n {request.top_n}", hint)
    for name in ("min_score", "min_confidence"):
        if not 0 <= getattr(request, name) <= 1:
            raise ConfigError(f"{name} must be from 0 to 1, not {getattr(request, name)!r}")
    if request.expand and request.expand not in EXPANSIONS:
        raise ConfigError(f"a result cannot be expanded to {request.expand!r}", nearest(request.expand, EXPANSIONS))
    return request


def condition_of(options: Mapping[str, Any]) -> Condition:
    """The condition of options by name: those in `CONDITION`."""
    for name in options:
        if name not in CONDITION:
            raise ConfigError(f"there is no option {name!r}", nearest(name, CONDITION))
    return condition(
        options.get("filters") or (),
        options.get("since") or "",
        options.get("before") or "",
        exclude=options.get("exclude") or (),
    )


def filter_value(value: object) -> str:
    """A filter value as text; 5.0 and 5 are equal."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _pairs(filters: Filters) -> Iterator[str]:
    """Filters, each as `key=value`."""
    if isinstance(filters, str):
        yield filters
    elif isinstance(filters, Mapping):
        for key, values in filters.items():
            if "=" in key:
                raise ConfigError(f"{key!r} is not a filter key", "remove the = from it")
            for value in values if isinstance(values, list | tuple | set) else [values]:
                yield f"{key}={filter_value(value)}"
    elif isinstance(filters, Iterable):
        yield from filters
    else:
        raise ConfigError(f"filters cannot be {filters!r}", 'for example filters={"tag": "setup"}')


def condition(
    filters: Filters = (),
    since: str | datetime = "",
    before: str | datetime = "",
    now: datetime | None = None,
    exclude: str | Iterable[str] = (),
) -> Condition:
    """A condition: filters (AND between keys, OR within one), a time range and documents to exclude.

    `key!=value` excludes documents with that value."""
    by_key: dict[str, tuple[str, ...]] = {}
    without: dict[str, tuple[str, ...]] = {}
    for pair in _pairs(filters):
        key, sign, value = pair.partition("=")
        target = without if key.rstrip().endswith("!") else by_key
        key = key.strip().removesuffix("!").rstrip()
        if not sign or not key or not value.strip():
            hint = "for example --filter tag=setup, or --filter tag!=draft"
            raise ConfigError(f"the filter {pair!r} is not of the form key=value", hint)
        if key.startswith("@"):
            raise ConfigError(f"{key!r} is not a filter key", "keys that begin with @ are internal")
        key = next((other for other in target if other.casefold() == key.casefold()), key)
        target[key] = (*target.get(key, ()), value.strip())
    excluded = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    return Condition(
        by_key,
        parse_date(since, now) if since else None,
        parse_date(before, now) if before else None,
        without=(*without.items(), *((("document", excluded),) if excluded else ())),
    )


def check_globs(texts: Iterable[str]) -> list[str]:
    """Globs, each checked to be able to match."""
    from watersmeet.common.globs import pattern

    found = list(texts)
    for text in found:
        if pattern(text, may_negate=False) is None:
            raise ConfigError(f"the pattern {text!r} cannot match any file", "for example --exclude 'drafts/**'")
    return found


def metadata_pairs(texts: Iterable[str]) -> dict[str, str]:
    """Metadata from `key=value` texts."""
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise ConfigError(f"{text!r} is not of the form key=value", "for example --meta sdk=python")
        found[key.strip()] = value.strip()
    return found
