"""What is stored of an evaluation: its figures, and the queries that did worst."""

from __future__ import annotations

from pathlib import Path

from watersmeet import Engine
from watersmeet.engine.index.state_names import LAST_EVALUATION
from watersmeet.engine.settings.settings import Settings
from watersmeet.evaluate.data import Dataset, Question
from watersmeet.evaluate.evaluation import evaluate, to_json
from watersmeet.evaluate.last_report import keep, read


def test_the_weakest_queries_are_stored_with_the_rank_of_what_they_should_find(
    linked: Engine, settings: Settings, tmp_path: Path
) -> None:
    questions = [
        Question("right", "TRN-1042", {"guides/keys.md": 1}, ("identifier",)),
        Question("wrong", "port 7878", {"tides.md": 1}, ("words",)),
        Question("nothing", "zyzzyva", {}, ("words",)),
    ]
    evaluation = evaluate(Dataset("checks", questions), settings, index=linked.folder)
    state = linked.index.state(LAST_EVALUATION)
    assert read(state) is None
    keep(state, evaluation, to_json(evaluation), "watersmeet eval checks.toml")
    stored = read(state)
    assert stored is not None
    assert (stored["command"], stored["dataset"], stored["queries"]) == ("watersmeet eval checks.toml", "checks", 3)
    assert [one["query"] for one in stored["weakest"]] == ["port 7878"]
    assert stored["weakest"][0]["expected"] == "tides.md"
    assert stored["weakest"][0]["quality"] < 1
    assert stored["class_intervals"]["identifier"] == [1.0, 1.0]
