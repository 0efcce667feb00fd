"""Indexes that differ only in what the asker may not see give the same answers, on every face."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.server

SCRIPT = Path(__file__).parents[2] / "scripts" / "withheld.py"


def test_what_is_withheld_changes_no_answer(tmp_path: Path) -> None:
    """Two indexes for each asker; `.ci/run` asks 300 questions, `python scripts/withheld.py` compares all."""
    argv = [sys.executable, str(SCRIPT), "--short", "--questions", "40", "--agents", "10"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=1200, check=False)
    assert done.stdout, done.stderr
    summary = json.loads(done.stdout)
    assert summary["first"] == []
    assert (summary["questions"], summary["differences"]) == (40, 0)
    assert summary["answers"] > 1700
