"""Reports: well-formed, complete, and in need of nothing else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from watersmeet.engine.settings.settings import Settings
from watersmeet.evaluate.data import load
from watersmeet.evaluate.evaluation import Evaluation, evaluate, to_json
from watersmeet.evaluate.html import html
from watersmeet.evaluate.markdown import markdown, rows, verdict
from watersmeet.evaluate.metrics import SHOWN
from watersmeet.evaluate.plots import bars, differences, dots, escape, histogram
from watersmeet.evaluate.trec import write_run


@pytest.fixture
def compared(beir: Path, settings: Settings, tmp_path: Path) -> Evaluation:
    """Against a run that has every other ranking upside down, with names that must be escaped."""
    folder = beir.rename(beir.with_name("<tiny> & co"))
    queries = folder / "queries.jsonl"
    queries.write_text(queries.read_text().replace('"text": "', '"text": "<b> | '))
    dataset = load(folder)
    first = evaluate(dataset, settings)
    first.run.rankings["fused"] = [r[::-1] if i % 2 else r for i, r in enumerate(first.run.rankings["fused"])]
    write_run(tmp_path / "other.run", dataset.questions, first.run)
    return evaluate(dataset, settings, against_run=str(tmp_path / "other.run"))


@pytest.mark.slow
def test_the_page_is_well_formed_and_needs_nothing_else(compared: Evaluation) -> None:
    page = html(compared, to_json(compared))
    tree = ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own page
    assert tree.find(".//h1").text == "Evaluation: <tiny> & co"
    assert len(tree.findall(".//svg")) == 5
    assert not re.search(r"<script|<link|<img|@import|url\(|https?:|\bsrc=|\bhref=", page)
    assert "prefers-color-scheme: dark" in page
    cells = [cell.text for cell in tree.findall(".//td")]
    assert {"fused", "against other.run", "signal lexical", "class even"} <= set(cells)


@pytest.mark.slow
def test_markdown_has_the_same_rows(compared: Evaluation) -> None:
    report = to_json(compared)
    text = markdown(report)
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(table) == 1 + len(rows(report))
    assert {line.replace("\\|", "").count("|") for line in table} == {3 + len(SHOWN)}
    assert "## Largest gains" in text
    assert verdict(report["comparison"]) in text
    assert "fused 1 against" in text


@pytest.mark.parametrize(
    ("delta", "low", "high", "p", "said"),
    [
        (0.1, 0.05, 0.15, 0.001, "Significantly better"),
        (-0.1, -0.15, -0.05, 0.001, "Significantly worse"),
        (0.1, -0.05, 0.25, 0.04, "No significant difference"),
        (0.1, 0.01, 0.2, 0.06, "No significant difference"),
    ],
)
def test_the_verdict_needs_both_the_test_and_the_interval(
    delta: float, low: float, high: float, p: float, said: str
) -> None:
    figures = {"against": "x", "delta": delta, "low": low, "high": high, "p": p, "won": 1, "lost": 1}
    assert verdict(figures).startswith(said)


def test_plots_of_extreme_values_are_drawn() -> None:
    for plot in (
        dots("a & b", [("<x>" * 20, 1.0, 1.0, 1.0), ("y", 0.0, 0.0, 0.0)]),
        bars("b", [("x", "3", 1.0)]),
        histogram("c", [0.01], [("p50", 0.01)], "ms"),
        histogram("d", [1.0] * 99 + [50_000.0], [("p50", 1.0), ("p95", 1.0)], "ms"),
        differences("e", [0.0, 1.0, -0.5]),
    ):
        ET.fromstring(plot)  # noqa: S314 - our own plot
        assert "nan" not in plot
    assert differences("f", [0.0]) == ""


def test_text_that_turns_itself_around_is_shown() -> None:
    assert escape("<b>\u202efdp.exe\u2066") == "&lt;b&gt;\\u202efdp.exe\\u2066"
    assert "\u202e" not in dots("a", [("name \u202e", 0.5, 0.4, 0.6)])
