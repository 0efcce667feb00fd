"""Settings of an export: how to search, and nothing else.

An export has the settings of the query path, as far as a stranger's file may set them. A server of an export reads them
by the same rule; of the user's own file it takes the limits of servers and the chat model, so that the same export
ranks the same for everyone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from watersmeet.core.errors import ConfigError, ModelProblem
from watersmeet.core.index import Tier
from watersmeet.engine.components import options
from watersmeet.engine.index.tiers import TIERS, embedder_name, model_of, outdated
from watersmeet.engine.settings.file import Table, parse, read
from watersmeet.engine.settings.settings import (
    FILE,
    IndexSettings,
    Layer,
    Settings,
    check,
    config_folder,
    from_environ,
    from_layers,
    merge,
)
from watersmeet.engine.settings.toml import dump
from watersmeet.engine.settings.trust import Ignored, filter_untrusted

OF_QUERIES = frozenset({"pipeline", "two_stage", "query", "signal", "fusion", "stage"})
"""Tables that an export has."""
OF_USER = frozenset({"serve", "ask", "chat"})
"""Tables of the user's own file that hold for a server of an export."""
CLASSIFICATION = "query_classification"
HEAD = """# Settings of this export: how it searches. They cannot name programs, paths, addresses or models.
# pipeline.query_classification: whether the kind of a query (identifier, mixed, conceptual) changes the weights.
"""


def portable_tiers(settings: Settings, tiers: Mapping[str, Tier]) -> tuple[list[str], list[str]]:
    """Tiers of an index whose vectors the models of an export can be compared with, and the other ones."""
    alone = from_layers("default", ())  # an export cannot set anything of a model
    found: tuple[list[str], list[str]] = [], []
    for name in (tier for tier in TIERS if tier in tiers):
        own = embedder_name(settings, name) == embedder_name(alone, name)
        found[0 if own and _fits(alone, tiers[name]) else 1].append(name)
    return found


def _fits(settings: Settings, tier: Tier) -> bool:
    try:
        model = model_of(settings, tier.name, embedder_name(settings, tier.name))
        return tier.fingerprint == model.fingerprint or outdated(tier, model)
    except ModelProblem:
        return False


def export_settings(settings: Settings, tiers: list[str]) -> tuple[str, list[str]]:
    """The settings file of an export, and the names of settings that cannot come along."""
    written: Table = {}
    for layer in settings.layers:
        written = merge(written, layer.tables if layer.recipe in ("", settings.recipe) else {})
    tables = {top: table for top, table in written.items() if top in OF_QUERIES}
    allowed, ignored = filter_untrusted(tables)
    pipeline = {**allowed.pop("pipeline", {}), CLASSIFICATION: settings.section("pipeline").query_classification}
    index: Table = {tier: "" for tier in TIERS if tier not in tiers}
    if settings.section("index").min_coverage != options(IndexSettings)["min_coverage"].default:
        index["min_coverage"] = settings.section("index").min_coverage
    whole = {"recipe": settings.recipe, "pipeline": pipeline, **({"index": index} if index else {}), **allowed}
    text = HEAD + dump(whole)
    if parse(text, FILE) != _plain(whole):
        raise ConfigError("the settings cannot be written as TOML", "use shorter values in watersmeet.toml")
    unknown = sorted({*ignored, *(f"registry.{key}" for key in written.get("registry", {}))})
    return text, unknown


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def load_export_settings(
    content: str, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """The settings for a server of an export, from its file, the user's limits, the environment and flags."""
    environ = os.environ if environ is None else environ
    user, file = os.path.join(config_folder(environ), FILE), os.path.join(content, FILE)
    layers: list[Layer] = []
    if os.path.isfile(user):
        layers.append(Layer(user, {top: table for top, table in read(user)[0].items() if top in OF_USER}))
    tables, _ = read(file)
    check(tables, file)
    allowed, left = filter_untrusted(tables)
    layers += [Layer(file, allowed), Layer("environment", from_environ(environ)), Layer("flag", dict(flags or {}))]
    for layer in layers:
        check(layer.tables, layer.origin)
    recipe = next((layer.tables["recipe"] for layer in reversed(layers) if "recipe" in layer.tables), "default")
    return replace(from_layers(recipe, tuple(layers)), ignored=(Ignored(file, left),) if left else ())
