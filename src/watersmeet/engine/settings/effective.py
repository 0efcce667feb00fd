"""Effective settings with their origins: values that were set, and defaults of the components in use."""

from __future__ import annotations

from typing import Any

from watersmeet.common.redaction import HIDDEN, shown
from watersmeet.engine.components import KINDS, default, exists, find, options
from watersmeet.engine.index.tiers import TIERS, embedder_name, store_of
from watersmeet.engine.settings.settings import SECTIONS, Settings, leaves
from watersmeet.engine.sync.parsers import readers

DEFAULT = "default"


def effective(settings: Settings) -> dict[str, tuple[Any, str]]:
    """Effective settings: (value, origin) by dotted path."""
    found: dict[str, tuple[Any, str]] = {}
    for name, cls in SECTIONS.items():
        for key, field in options(cls).items():
            found[f"{name}.{key}"] = (default(field), DEFAULT)
    for kind, name in _used(settings):
        for key, field in options(find(kind, name)).items():
            found[f"{kind}.{name}.{key}"] = (default(field), DEFAULT)
    for path, value in leaves(settings.tables):
        found.pop(path.rpartition(".")[0], None)  # the default of a table, now filled
        found[path] = (value, settings.origins.get(path, DEFAULT))
    found["recipe"] = (settings.recipe, settings.origins.get("recipe", DEFAULT))
    return {path: (visible(path, value), origin) for path, (value, origin) in sorted(found.items())}


def visible(path: str, value: Any) -> Any:
    """A value as it may be shown: secrets, such as keys and connection strings, are hidden, and names and passwords in
    addresses."""
    if isinstance(value, str) and "://" in value and "@" in value:
        value = shown(value)
    kind, _, rest = path.partition(".")
    name, _, key = rest.partition(".")
    if kind not in KINDS or not value or not exists(kind, name):
        return value
    field = options(find(kind, name)).get(key)
    return HIDDEN if field is not None and field.metadata.get("secret") else value


def _used(settings: Settings) -> list[tuple[str, str]]:
    pipeline, index = settings.section("pipeline"), settings.section("index")
    models = {tier: model for tier in TIERS if (model := embedder_name(settings, tier))}
    return [
        ("source", index.source),
        ("chunk", index.chunk),
        ("store", index.text),
        *(("store", store_of(tier)) for tier in models),
        *([("store", "embeddings")] if models else []),
        *(("embed", model) for model in models.values()),
        *(("parse", name) for name in sorted({*readers().values()})),
        *(("query", name) for name in pipeline.understand),
        *(("signal", name) for name in pipeline.signals),
        ("fusion", pipeline.fusion),
        *(("stage", name) for name in pipeline.stages),
        ("records", settings.section("registry").records),
    ]
