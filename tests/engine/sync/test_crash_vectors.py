"""kill -9 while vectors are made, kept or written anew: none is lost, and none is made twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kill

SCRIPT = Path(__file__).parents[3] / "scripts" / "killing_vectors.py"


def test_kills_at_random_moments(tmp_path: Path) -> None:
    """A short run of the script; `python scripts/killing_vectors.py` is the long one."""
    argv = [sys.executable, str(SCRIPT), "--kills", "4", "--chunks", "40", "--many", "400"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (summary["kills"], summary["failures"]) == (4, [])
    assert all(found["kills"] for found in summary["situations"].values())
