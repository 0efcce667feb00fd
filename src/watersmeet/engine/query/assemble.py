"""The pipeline factory: from settings to signals, fusion and stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.engine.components import build, exists, find
from watersmeet.engine.index.tiers import is_quick, is_remote
from watersmeet.engine.query.modes import VECTORS
from watersmeet.engine.query.pipeline import Pipeline
from watersmeet.engine.query.threads import Threads
from watersmeet.engine.settings.settings import PipelineSettings, Settings


def _followers(follow: Mapping[str, str], made: Mapping[str, Any]) -> dict[str, str]:
    """Signals that only rank candidates of others, each with the signal that must run for it to do so."""
    following = {name: other for name, other in follow.items() if other and hasattr(made.get(name), "score")}
    for other in following.values():
        if other not in made:
            find("signal", other)  # raises for an unknown name
    return {name: other for name, other in following.items() if other in made}


def _check(settings: Settings, pipeline: PipelineSettings) -> None:
    """Raise for settings that would silently have no effect."""
    rules = settings.of("query", "route").get("rules", ()) if "route" in pipeline.understand else ()
    routed = [name for rule in rules for key in ("weights", "only") for name in rule.get(key, ())]
    for name in (*settings.of("fusion", pipeline.fusion).get("weights", {}), *routed):
        if not exists("signal", name):
            find("signal", name)  # raises for an unknown name
    if "anchor" in pipeline.stages and "anchors" not in pipeline.understand:
        raise ConfigError("the stage `anchor` needs the anchors of the query", 'add "anchors" to pipeline.understand')


def _query_steps(pipeline: PipelineSettings) -> list[str]:
    """The query steps; without those that weigh by the kind of query, if `query_classification` is off."""
    if pipeline.query_classification:
        return pipeline.understand
    return [name for name in pipeline.understand if not getattr(find("query", name), "classifies", False)]


def assemble_pipeline(
    settings: Settings,
    signals: tuple[str, ...],
    stages: tuple[str, ...] | None,
    ports: dict[str, Any],
    threads: Threads,
    remote: bool,
) -> Pipeline:
    """The pipeline of these settings; `stages` replace those of the settings. `remote`: the index is on another
    host."""

    def make(kind: str, name: str) -> Any:
        return build(kind, name, settings.of(kind, name), **ports)

    made = {name: make("signal", name) for name in signals}
    pipeline: PipelineSettings = settings.section("pipeline")
    remote_models = frozenset(name for name in signals if name in VECTORS and is_remote(settings, name))
    slow = frozenset(name for name in signals if name in VECTORS and not is_quick(settings, name))
    _check(settings, pipeline)
    return Pipeline(
        understand=[make("query", name) for name in _query_steps(pipeline)],
        signals=[(name, signal) for name, signal in made.items() if not hasattr(signal, "derive")],
        derived=[(name, signal) for name, signal in made.items() if hasattr(signal, "derive")],
        fusion=make("fusion", pipeline.fusion),
        stages=[(name, make("stage", name)) for name in (pipeline.stages if stages is None else stages)],
        deadline=pipeline.deadline_ms / 1000,
        threads=threads,
        follow=_followers(pipeline.follow, made),
        remote=frozenset(made) if remote else remote_models,
        models=slow - remote_models,
    )
