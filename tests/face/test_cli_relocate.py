"""`watersmeet relocate`, and what leads to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_folder_that_was_moved(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "notes", tmp_path / "my notes"
    old.mkdir()
    (old / "a.md").write_text("# A\n\nabout a quagga\n")
    place = ["--index", str(tmp_path / "index")]
    assert run("sync", str(old), *place).returncode == 0
    old.rename(new)
    offered = run("sync", str(new), *place)
    assert offered.returncode == 2
    assert f"watersmeet relocate {old} '{new}'" in offered.stderr
    done = run("relocate", str(old), str(new), "--json", *place)
    assert (done.returncode, json.loads(done.stdout)["documents"]) == (0, 1)
    assert json.loads(done.stdout)["took_ms"] >= 0
    assert json.loads(run("search", "quagga", "--json", *place).stdout)["results"][0]["path"] == str(new / "a.md")
    again = run("relocate", str(old), str(new), *place)
    assert (again.returncode, again.stdout) == (2, "")
    assert str(new) in again.stderr
    assert "hint:" in again.stderr
    back = new.rename(old)
    assert f"1 documents are at {back} now" in run("relocate", str(new), str(back), *place).stdout
