from __future__ import annotations

import pytest

from watersmeet.evaluate.risk import calibration_error, report, risk_and_coverage


def test_risk_falls_where_the_surer_ones_are_right() -> None:
    said = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    right = [True, True, True, True, True, False, False, False]
    points = {point["coverage"]: point for point in risk_and_coverage(said, right)}
    assert points[0.5] == {"coverage": 0.5, "risk": 0.0, "confidence": 0.6}
    assert points[1.0]["risk"] == 0.375


def test_the_calibration_error_is_the_distance_of_what_is_said_from_what_is_so() -> None:
    assert calibration_error([0.75] * 4, [True, True, True, False]) == 0.0
    assert calibration_error([0.95] * 4, [False] * 4) == 0.95


def test_an_answer_to_a_question_without_one_is_wrong() -> None:
    found = report([0.9, 0.8, 0.2, 0.1], [False, False, True, True], [True, True, None, None])
    assert found is not None
    risks = {point["coverage"]: point["risk"] for point in found["risk_coverage"]}
    assert (risks[0.5], risks[1.0]) == (0.0, 0.5)
    assert (found["mean"], found["right"], found["calibration_error"]) == (0.5, 0.5, 0.15)
    assert (found["false_alarms"], found["flagged_of_unanswerable"]) == (0.0, 1.0)
    sure = report([0.9, 0.9], [False, False], [None, None])
    assert sure is not None
    assert (sure["calibration_error"], sure["flagged_of_unanswerable"]) == (0.9, 0.0)


def test_what_is_flagged_is_counted_apart_for_questions_without_an_answer() -> None:
    found = report([0.9, 0.2, 0.1, None], [False, True, True, False], [True, False, None, True])
    assert found is not None
    assert found["false_alarms"] == 0.5
    assert found["flagged_of_unanswerable"] == 1.0
    assert report([None], [False], [True]) is None


@pytest.mark.parametrize("many", [1, 2, 3])
def test_few_questions_are_enough(many: int) -> None:
    found = report([0.5] * many, [False] * many, [True] * many)
    assert found is not None
    assert [point["risk"] for point in found["risk_coverage"]] == [0.0] * 5
