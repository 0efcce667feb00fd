"""Environment variables of predecessors: what each sets here. The settings module passes the environment in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from watersmeet.core.errors import ConfigError, nearest

OFF = ("0", "false", "no", "off")
METHODS = ("rrf", "legacy")


class Variable(NamedTuple):
    """What a variable sets, and the notice that says so."""

    name: str
    tables: dict[str, Any]
    notice: str
    recipe: str = ""  # the only recipe that it is for; empty: all


def read_variables(environ: Mapping[str, str]) -> list[Variable]:
    """The variables that are set, and are not empty."""
    found = [
        _vectors(environ.get("DOCMANCER_AUTO_VECTORS", "").strip()),
        _fusion(environ.get("SEARCH_FUSION_METHOD", "").strip().lower()),
        _ef_search(environ.get("VECTOR_SEARCH_EF_SEARCH", "").strip()),
    ]
    return [one for one in found if one is not None]


def _vectors(value: str) -> Variable | None:
    """docmancer makes vectors unless this is 0."""
    if value.lower() not in OFF:
        return None
    notice = f"DOCMANCER_AUTO_VECTORS={value} is honoured: no vectors are made (index.vectors = false)"
    return Variable("DOCMANCER_AUTO_VECTORS", {"index": {"vectors": False}}, notice)


def _fusion(value: str) -> Variable | None:
    """How a gateway registry fuses. In other recipes `legacy` would leave out the signals that it does not know."""
    if not value:
        return None
    if value not in METHODS:
        raise ConfigError(f"SEARCH_FUSION_METHOD cannot be {value!r}", nearest(value, METHODS))
    notice = (
        f'SEARCH_FUSION_METHOD={value} is honoured by the recipe registry: pipeline.fusion = "{value}"; '
        "other recipes keep their fusion"
    )
    return Variable("SEARCH_FUSION_METHOD", {"pipeline": {"fusion": value}}, notice, "registry")


def _ef_search(value: str) -> Variable | None:
    if not value:
        return None
    if not value.isdecimal() or not int(value):
        raise ConfigError(f"VECTOR_SEARCH_EF_SEARCH cannot be {value!r}", "give a whole number of 1 or more")
    notice = (
        f"VECTOR_SEARCH_EF_SEARCH={value} is honoured for vectors in DocumentDB (records.mongodb.ef_search); "
        "a search of the index is exact"
    )
    return Variable("VECTOR_SEARCH_EF_SEARCH", {"records": {"mongodb": {"ef_search": int(value)}}}, notice)
