"""Requests of Python as the JSON that the REST routes take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition, Request
from watersmeet.engine.query.filters import build_request, condition_of
from watersmeet.engine.registry.requests import EntityRequest, ToolRequest

_LOCAL = {
    "viewer": "the token says who asks",
    "addresses": "the token says who asks",
    "stop": "cancel the task of an AsyncClient instead",
    "now": "a server goes by its own clock",
    "expand_tokens": "leave it out",
}
"""What has a meaning only where the index is, and what to do."""


def search_body(request: Request | str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `/api/search`. It asks for all that an `Answer` has."""
    made = build_request(request, options)
    return {**_sent(made), **condition_fields(made.condition), "explain": True}


def registry_fields(request: EntityRequest | ToolRequest) -> dict[str, Any]:
    if request.condition:
        raise ConfigError("a condition cannot be sent to the registry of a server", "use its own filters, such as tags")
    return _sent(request)


def condition_fields(condition: Condition) -> dict[str, Any]:
    """A condition as filters, dates and excluded documents."""
    if condition.also or condition.gates:
        raise ConfigError("this condition cannot be sent to a server", "use filters, since, before and exclude")
    filters = {key: list(values) for key, values in condition.fields.items()}
    for key, values in condition.without:
        filters.setdefault(f"{key}!", []).extend(values)
    made: dict[str, Any] = {"filters": filters} if filters else {}
    for name in ("since", "before"):
        if (moment := getattr(condition, name)) is not None:
            made[name] = moment.isoformat()
    return made


def list_query(options: Mapping[str, Any]) -> dict[str, Any]:
    """The query of a list of documents or tags: each filter as `key=value`."""
    sent = condition_fields(condition_of(options))
    filters = [f"{key}={value}" for key, values in sent.pop("filters", {}).items() for value in values]
    return {**sent, **({"filter": filters} if filters else {})}


def _sent(request: Request | EntityRequest | ToolRequest) -> dict[str, Any]:
    """The fields of a request that differ from their defaults, without its condition."""
    made: dict[str, Any] = {}
    for one in fields(request):
        value = getattr(request, one.name)
        if one.name == "condition" or (one.default is not MISSING and value == one.default):
            continue
        if one.name in _LOCAL:
            raise ConfigError(f"{one.name} cannot be sent to a server", _LOCAL[one.name])
        made[one.name] = list(value) if isinstance(value, tuple) else value
    return made
