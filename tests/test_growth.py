"""The picture of how queries grow: drawn from the committed results, of one commit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from tests.helpers.script_modules import script

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def growth() -> ModuleType:
    return script("growth")


def keep(folder: Path, chunks: int, commit: str, date: str, **ms: float) -> None:
    figures = {mode: {"none": {"p50": value, "p99": 2 * value, "of": 200}} for mode, value in ms.items()}
    text = json.dumps({"commit": commit, "date": date, "chunks": chunks, "cpu_ms": figures})
    (folder / f"million_asked_{chunks}-{commit}.json").write_text(text, "utf8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for chunks in (10_000, 100_000, 1_000_000):
        keep(tmp_path, chunks, "abc1", "2026-02-01", lexical=chunks / 1e5, static=3, dense=6, hybrid=9)
        keep(tmp_path, chunks + 1, "abc0", "2026-01-01", lexical=1, static=1, dense=1, hybrid=1)
    return tmp_path


def test_the_picture_shows_what_was_measured() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/growth.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_newest_commit_counts(growth: ModuleType, results: Path) -> None:
    found = growth.sizes(results)
    assert [chunks for chunks, _ in found] == [10_000, 100_000, 1_000_000]
    assert {one["commit"] for _, one in found} == {"abc1"}
    assert growth.exponent(growth.medians(found, "lexical")) == pytest.approx(1)
    assert growth.exponent(growth.medians(found, "hybrid")) == pytest.approx(0)


def test_it_is_a_picture_of_every_mode(growth: ModuleType, results: Path) -> None:
    text = growth.drawn(growth.sizes(results))
    root = ElementTree.fromstring(text)  # noqa: S314 - it was written here
    assert len(root.findall("{*}polyline")) == len(growth.MODES)
    assert "lexical 10.0 ms, exponent 1.00" in text
    assert "1,000,000" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_change_is_noticed(growth: ModuleType, results: Path, tmp_path: Path) -> None:
    picture = tmp_path / "growth.svg"
    assert growth.main(["--check"], results, picture) == 1
    assert growth.main([], results, picture) == 0
    assert growth.main(["--check"], results, picture) == 0
    keep(results, 1_000_000, "abc2", "2026-03-01", lexical=1, static=1, dense=1, hybrid=1)
    keep(results, 10_000, "abc2", "2026-03-01", lexical=1, static=1, dense=1, hybrid=1)
    assert growth.main(["--check"], results, picture) == 1
