"""Which signals a mode lets vote, and which mode is meant when none is named."""

from __future__ import annotations

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.engine.settings import PipelineSettings

MODES: dict[str, tuple[str, ...]] = {
    "lexical": ("lexical", "exact"),
    "exact": ("exact",),
}


def choose(mode: str, pipeline: PipelineSettings) -> tuple[str, tuple[str, ...]]:
    """The mode that runs, and its signals: those of the recipe, or all of the mode's if the recipe has none."""
    mode = mode or "lexical"
    if mode not in MODES:
        raise ConfigError(f"no mode called {mode!r}", nearest(mode, MODES))
    signals = tuple(signal for signal in pipeline.signals if signal in MODES[mode])
    return mode, signals or MODES[mode]
