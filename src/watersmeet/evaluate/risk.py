"""Is it as sure as it should be? Risk and coverage: how often it errs when it answers only what it is sure of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

COVERAGES = (0.25, 0.5, 0.75, 0.9, 1.0)
BINS = 10


def risk_and_coverage(confidence: Sequence[float], right: Sequence[bool]) -> list[dict[str, float]]:
    """For shares of the questions, the surest first: how many of them have no answer among the first results."""
    order = sorted(range(len(confidence)), key=lambda i: (-confidence[i], i))
    points = []
    for coverage in COVERAGES:
        taken = order[: max(1, math.ceil(coverage * len(order)))]
        wrong = sum(not right[i] for i in taken)
        least = confidence[taken[-1]]
        points.append({"coverage": coverage, "risk": round(wrong / len(taken), 4), "confidence": round(least, 4)})
    return points


def calibration_error(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """How far what it says and how often it is right are apart, on the mean, in ten bins."""
    gaps = [0.0] * BINS
    for said, was in zip(confidence, right, strict=True):
        gaps[min(BINS - 1, int(said * BINS))] += was - said
    return round(math.fsum(abs(gap) for gap in gaps) / len(confidence), 4)


def report(
    confidence: Sequence[float | None], flagged: Sequence[bool], right: Sequence[bool | None]
) -> dict[str, Any] | None:
    """All of it as figures; None if nothing was asked that can be answered. `right` is None where nothing should be."""
    known = [(c, r) for c, r in zip(confidence, right, strict=True) if c is not None and r is not None]
    nothing = [flag for flag, r in zip(flagged, right, strict=True) if r is None]
    if not known:
        return None
    said, was = [c for c, _ in known], [r for _, r in known]
    found: dict[str, Any] = {
        "mean": round(math.fsum(said) / len(said), 4),
        "right": round(sum(was) / len(was), 4),
        "calibration_error": calibration_error(said, was),
        "risk_coverage": risk_and_coverage(said, was),
        "false_alarms": round(sum(f for f, r in zip(flagged, right, strict=True) if r is not None) / len(known), 4),
    }
    if nothing:
        found["flagged_of_unanswerable"] = round(sum(nothing) / len(nothing), 4)
    return found
