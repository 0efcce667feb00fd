"""Which signals a mode lets vote, and which mode is meant when none is named."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from watersmeet.core.errors import ConfigError, nearest

LEXICAL_SIGNALS = ("lexical", "exact")
LINKS = ("graph", "neighbours")
"""Derived from what the others found: they need no vectors."""
VECTORS = ("static", "sparse", "dense")
"""The signals that need more than words: each asks the tier of its name."""
MODES: dict[str, tuple[str, ...]] = {
    "lexical": LEXICAL_SIGNALS,
    "exact": ("exact",),
    "static": ("static",),
    "dense": ("dense",),
    "sparse": ("sparse",),
    "hybrid": (*LEXICAL_SIGNALS, *VECTORS),
}
ABSENT = "not in this index"
"""Why a signal is silent for which no vectors were ever made; perhaps nobody wanted them."""


def needs_vectors(mode: str) -> bool:
    """Whether a mode could use vectors; if it could not, nothing of them is even loaded."""
    if mode and mode not in MODES:
        raise ConfigError(f"no mode called {mode!r}", nearest(mode, MODES))
    return not mode or any(signal in VECTORS for signal in MODES[mode])


def choose(
    mode: str, recipe: Sequence[str], coverage: Mapping[str, float], enough: float
) -> tuple[str, tuple[str, ...]]:
    """The mode that runs and its signals: hybrid where there are vectors, unless another is named.

    A vector signal votes once it has seen enough; asked by its own name, it says so if it has not.
    """
    mode = mode or ("hybrid" if coverage else "lexical")
    if mode != "hybrid":
        signals = tuple(signal for signal in recipe if signal in MODES[mode]) or MODES[mode]
        return mode, (*signals, *(signal for signal in recipe if signal in LINKS and mode == "lexical"))
    ready = {name for name, share in coverage.items() if share >= enough}
    return mode, tuple(s for s in recipe if s not in VECTORS or s in ready or not coverage)


def mode_used(mode: str, ran: Collection[str]) -> str:
    """The mode that the answer may claim: hybrid without a vector signal is lexical."""
    return "lexical" if mode == "hybrid" and not any(signal in VECTORS for signal in ran) else mode


def percent(share: float) -> str:
    """Rounded down: all is only what is all."""
    return f"{int(share * 100 + 1e-9)}%"


def silent_signals(
    asked: str, recipe: Sequence[str], voting: Collection[str], coverage: Mapping[str, float]
) -> dict[str, str]:
    """The recipe's signals that do not vote though no mode forbids it, and why: silence is never unexplained."""
    if asked not in ("", "hybrid"):
        return {}
    return {
        name: f"has seen {percent(coverage[name])} of the chunks" if name in coverage else ABSENT
        for name in recipe
        if name in VECTORS and name not in voting
    }
