"""The CSV of an evaluation, read back by a CSV reader."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import Settings
from watersmeet.evaluate.data import load
from watersmeet.evaluate.evaluation import evaluate, to_json
from watersmeet.evaluate.metrics import NAMES
from watersmeet.evaluate.query_csv import COLUMNS, write_csv


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_row_for_every_query_whose_means_are_the_summary(beir: Path, settings: Settings, tmp_path: Path) -> None:
    evaluation = evaluate(load(beir), settings)
    write_csv(str(tmp_path / "out.csv"), evaluation)
    rows = rows_of(tmp_path / "out.csv")
    assert tuple(rows[0]) == COLUMNS
    assert [row["id"] for row in rows] == [f"q{i}" for i in range(40)]
    metrics = to_json(evaluation)["metrics"]
    for name in NAMES:
        assert sum(float(row[name]) for row in rows) / 40 == pytest.approx(metrics[name], abs=1e-4)
    for number, row in enumerate(rows):
        found = evaluation.run.rankings["fused"][number]
        assert row["first"] == found[0]
        assert row["rank"] == (str(found.index(f"d{number}") + 1) if f"d{number}" in found else "")
        assert row["classes"].split()[0] in ("even", "odd")
        assert row["no_good_match"] in ("true", "false")
        assert 0 <= float(row["confidence"]) <= 1


def test_values_that_do_not_exist_are_empty_and_texts_are_quoted(
    tmp_path: Path, settings: Settings, write: Callable[[dict[str, str]], Path]
) -> None:
    folder = write({"a.md": "# Tides\n\nOn tides.\n"})
    with Engine(tmp_path / "index", settings) as engine:
        engine.sync([folder])
    checks = tmp_path / "checks.toml"
    checks.write_text(
        '[[query]]\nquery = \'tides, "spring" and neap\'\nexpect = ["a.md"]\n'
        '[[query]]\nquery = "sourdough"\nexpect = []\n'
    )
    evaluation = evaluate(load(checks), settings, index=str(tmp_path / "index"))
    write_csv(str(tmp_path / "out.csv"), evaluation)
    found, nothing = rows_of(tmp_path / "out.csv")
    assert (found["query"], found["relevant"], found["rank"]) == ('tides, "spring" and neap', "1", "1")
    assert (nothing["relevant"], nothing["rank"], nothing["first"], nothing["ndcg@10"]) == ("0", "", "", "")
