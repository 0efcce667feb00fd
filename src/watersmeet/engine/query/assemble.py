"""From settings to a query path: which components vote, fuse and follow."""

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


def _followers(wanted: Mapping[str, str], made: Mapping[str, Any]) -> dict[str, str]:
    """Those that can follow, each with whom it follows."""
    following = {name: other for name, other in wanted.items() if other and hasattr(made.get(name), "score")}
    for other in following.values():
        if other not in made:
            find("signal", other)  # it says what is wrong with a name that there is not
    return {name: other for name, other in following.items() if other in made}


def _check(settings: Settings, wanted: PipelineSettings) -> None:
    """What would otherwise do nothing, and say nothing."""
    rules = settings.of("query", "route").get("rules", ()) if "route" in wanted.understand else ()
    routed = [name for rule in rules for key in ("weights", "only") for name in rule.get(key, ())]
    for name in (*settings.of("fusion", wanted.fusion).get("weights", {}), *routed):
        if not exists("signal", name):
            find("signal", name)  # it says what is wrong with a name that there is not
    if "anchor" in wanted.stages and "anchors" not in wanted.understand:
        raise ConfigError("the stage `anchor` has nothing to go by", 'add "anchors" to pipeline.understand')


def assemble_pipeline(
    settings: Settings,
    signals: tuple[str, ...],
    stages: tuple[str, ...] | None,
    ports: dict[str, Any],
    threads: Threads,
    remote: bool,
) -> Pipeline:
    """From settings to a pipeline; without `stages`, those that the settings name. `remote`: the index is elsewhere."""

    def make(kind: str, name: str) -> Any:
        return build(kind, name, settings.of(kind, name), **ports)

    made = {name: make("signal", name) for name in signals}
    wanted: PipelineSettings = settings.section("pipeline")
    afar = frozenset(name for name in signals if name in VECTORS and is_remote(settings, name))
    slow = frozenset(name for name in signals if name in VECTORS and not is_quick(settings, name))
    _check(settings, wanted)
    return Pipeline(
        understand=[make("query", name) for name in wanted.understand],
        signals=[(name, signal) for name, signal in made.items() if not hasattr(signal, "derive")],
        derived=[(name, signal) for name, signal in made.items() if hasattr(signal, "derive")],
        fusion=make("fusion", wanted.fusion),
        stages=[(name, make("stage", name)) for name in (wanted.stages if stages is None else stages)],
        deadline=wanted.deadline_ms / 1000,
        threads=threads,
        follow=_followers(wanted.follow, made),
        afar=frozenset(made) if remote else afar,
        models=slow - afar,
    )
