"""Search modes: the signals of each, and the default mode."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from watersmeet.core.errors import ConfigError, nearest

LEXICAL_SIGNALS = ("lexical", "exact")
WORDS = (*LEXICAL_SIGNALS, "keyword")
"""Signals that need no vectors; `keyword` stands for the others in recipes that have it."""
LINKS = ("graph", "neighbours")
"""Signals derived from the results of others; they need no vectors."""
VECTORS = ("static", "sparse", "dense")
"""Signals that need vectors or weighted terms, each those of the tier of its name."""
MODES: dict[str, tuple[str, ...]] = {
    "lexical": LEXICAL_SIGNALS,
    "exact": ("exact",),
    "static": ("static",),
    "dense": ("dense",),
    "sparse": ("sparse",),
    "hybrid": (*LEXICAL_SIGNALS, *VECTORS),
}
ABSENT = "not in this index"
"""The reason for an unused signal whose vectors were never made."""


def needs_vectors(mode: str) -> bool:
    """Whether a mode can use vectors; if not, no vector code is loaded."""
    if mode and mode not in MODES:
        raise ConfigError(f"no mode called {mode!r}", nearest(mode, MODES))
    return not mode or any(signal in VECTORS for signal in MODES[mode])


def choose(
    mode: str, recipe: Sequence[str], coverage: Mapping[str, float], enough: float
) -> tuple[str, tuple[str, ...]]:
    """The mode to run and its signals: hybrid if there are vectors, unless another is requested.

    In hybrid mode a vector signal is used once its coverage is `enough`. In its own mode it always runs, and fails with
    the reason if its coverage is too low.
    """
    mode = mode or ("hybrid" if coverage else "lexical")
    if mode != "hybrid":
        usable = WORDS if mode == "lexical" else MODES[mode]
        signals = tuple(signal for signal in recipe if signal in usable) or MODES[mode]
        return mode, (*signals, *(signal for signal in recipe if signal in LINKS and mode == "lexical"))
    ready = {name for name, share in coverage.items() if share >= enough}
    return mode, tuple(s for s in recipe if s not in VECTORS or s in ready or not coverage)


def mode_used(mode: str, ran: Collection[str]) -> str:
    """The mode to report: hybrid without a vector signal is lexical."""
    return "lexical" if mode == "hybrid" and not any(signal in VECTORS for signal in ran) else mode


def percent(share: float) -> str:
    """A share as a percentage, rounded down so that only a full share is 100%."""
    return f"{int(share * 100 + 1e-9)}%"


def silent_signals(
    requested_mode: str, recipe: Sequence[str], voting: Collection[str], coverage: Mapping[str, float]
) -> dict[str, str]:
    """Signals of the recipe that were not used though the mode allows them, each with the reason."""
    if requested_mode not in ("", "hybrid"):
        return {}
    return {
        name: f"it covers {percent(coverage[name])} of the chunks" if name in coverage else ABSENT
        for name in recipe
        if name in VECTORS and name not in voting
    }
