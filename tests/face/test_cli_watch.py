"""`watersmeet watch`, `search --sync`, and what a search says of changed files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import START

pytestmark = pytest.mark.slow
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]


def started(place: Path, *words: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *words],
        cwd=place,
        env={**os.environ, "WATERSMEET__INDEX__VECTORS": "false", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_watch_prints_batches_and_a_summary(tmp_path: Path, how: signal.Signals) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n")
    process = started(tmp_path, "watch", "notes", "--json")
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "watching" in process.stderr.readline()
        time.sleep(0.5)  # it may or may not listen yet: both ways the file is found
        (notes / "b.md").write_text("# B\n")
        batch = json.loads(process.stdout.readline())
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (batch["added"], batch["documents"], batch["folders"]) == (1, 2, [f"{notes}/"])
    summary = json.loads(out.splitlines()[-1])
    assert (process.returncode, summary["batches"], summary["added"], summary["took_ms"] > 0, err) == (
        0,
        1,
        1,
        True,
        "",
    )


def test_watch_without_a_folder_is_an_error(tmp_path: Path, run: Run) -> None:
    assert "sync PATH" in run("watch", cwd=tmp_path).stderr
    done = run("watch", "nowhere", cwd=tmp_path)
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)


def test_a_search_says_what_changed_and_sync_reads_it(fresh: Path, run: Run, ask: Ask) -> None:
    patient = {"WATERSMEET__WATCH__STALE_MS": "60000"}
    run("sync", ".", cwd=fresh)
    (fresh / "otters.md").write_text("# Otters\n\nThe otters sleep.\n")
    found = ask("search", "otters", cwd=fresh, code=1, **patient)
    assert (found["stale"], found["results"]) == (1, [])
    assert found["notes"] == [
        "1 file changed since the last sync; `watersmeet sync` or `search --sync` reads what is new"
    ]
    assert "1 file changed since the last sync" in run("search", "otters", cwd=fresh, **patient).stderr
    found = ask("search", "otters", "--sync", cwd=fresh, **patient)
    assert (found["stale"], [one["document"] for one in found["results"]], "notes" in found) == (
        0,
        ["otters.md"],
        False,
    )
    assert ask("search", "otters", cwd=fresh, WATERSMEET__WATCH__STALE="false")["stale"] is None


def test_get_says_that_the_file_is_gone(fresh: Path, run: Run, ask: Ask) -> None:
    (fresh / "otters.md").write_text("# Otters\n\nThe otters sleep.\n")
    run("sync", ".", cwd=fresh)
    assert "file_missing" not in ask("get", "otters.md", cwd=fresh)
    (fresh / "otters.md").unlink()
    done = run("get", "otters.md", cwd=fresh)
    assert (done.returncode, "The otters sleep." in done.stdout) == (0, True)
    assert "otters.md no longer exists; this is its text as of the last sync" in done.stderr
    assert ask("get", "otters.md", cwd=fresh)["file_missing"] is True
