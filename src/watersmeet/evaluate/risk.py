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
    """All of it as figures; None if it never said how sure it was.

    `right` is None where nothing should be found: whatever is answered there is wrong. What it flags rightly or wrongly
    is counted apart for these and the others.
    """
    known = [(c, f, r) for c, f, r in zip(confidence, flagged, right, strict=True) if c is not None]
    if not known:
        return None
    said, was = [c for c, _, _ in known], [bool(r) for _, _, r in known]
    nothing = [f for _, f, r in known if r is None]
    found: dict[str, Any] = {
        "mean": round(math.fsum(said) / len(said), 4),
        "right": round(sum(was) / len(was), 4),
        "calibration_error": calibration_error(said, was),
        "risk_coverage": risk_and_coverage(said, was),
        "false_alarms": round(sum(f for _, f, r in known if r is not None) / max(1, len(known) - len(nothing)), 4),
    }
    if nothing:
        found["flagged_of_unanswerable"] = round(sum(nothing) / len(nothing), 4)
    return found
