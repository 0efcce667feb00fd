"""Calibration of the confidence: risk-coverage curve and calibration error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

COVERAGES = (0.25, 0.5, 0.75, 0.9, 1.0)
BINS = 10


def risk_and_coverage(confidence: Sequence[float], right: Sequence[bool]) -> list[dict[str, float]]:
    """Risk at several coverages: of the questions with the highest confidence, the share without an answer among the
    first results."""
    order = sorted(range(len(confidence)), key=lambda i: (-confidence[i], i))
    points = []
    for coverage in COVERAGES:
        taken = order[: max(1, math.ceil(coverage * len(order)))]
        wrong = sum(not right[i] for i in taken)
        least = confidence[taken[-1]]
        points.append({"coverage": coverage, "risk": round(wrong / len(taken), 4), "confidence": round(least, 4)})
    return points


def calibration_error(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error: the mean gap between confidence and share of right answers, in ten bins."""
    gaps = [0.0] * BINS
    for stated, correct in zip(confidence, right, strict=True):
        gaps[min(BINS - 1, int(stated * BINS))] += correct - stated
    return round(math.fsum(abs(gap) for gap in gaps) / len(confidence), 4)


def report(
    confidence: Sequence[float | None], flagged: Sequence[bool], right: Sequence[bool | None]
) -> dict[str, Any] | None:
    """All figures on the confidence; None if no answer had one.

    `right` is None where nothing should be found: every answer there is wrong. Flags as no good match are counted
    separately for these and the others.
    """
    rated = [(c, f, r) for c, f, r in zip(confidence, flagged, right, strict=True) if c is not None]
    if not rated:
        return None
    stated, correct = [c for c, _, _ in rated], [bool(r) for _, _, r in rated]
    unanswerable = [f for _, f, r in rated if r is None]
    found: dict[str, Any] = {
        "mean": round(math.fsum(stated) / len(stated), 4),
        "right": round(sum(correct) / len(correct), 4),
        "calibration_error": calibration_error(stated, correct),
        "risk_coverage": risk_and_coverage(stated, correct),
        "false_alarms": round(sum(f for _, f, r in rated if r is not None) / max(1, len(rated) - len(unanswerable)), 4),
    }
    if unanswerable:
        found["flagged_of_unanswerable"] = round(sum(unanswerable) / len(unanswerable), 4)
    return found
