"""Nothing needs the source text: the package compiled in place, its sources deleted, works as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import watersmeet

pytestmark = pytest.mark.slow

START = (
    "import sys, watersmeet; assert watersmeet.__file__.endswith('.pyc'), watersmeet.__file__;"
    "from watersmeet.face.cli.main import main; main()"
)
SETTINGS = """
[pipeline]
understand = ["words", "route"]
signals = ["lexical", "exact", "static"]
fusion = "rrf"
stages = ["recency", "floor_unless_mentioned", "top", "unit"]

[index]
text = "fts5"
dense = ""

[fusion.rrf]
k = 20
weights = { exact = 2.0 }

[stage.recency]

[store.fts5]
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the package without any source."""
    folder = tmp_path_factory.mktemp("compiled")
    package = Path(watersmeet.__file__).parent
    shutil.copytree(package, folder / "watersmeet", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-b", folder], check=True, timeout=300)
    for source in folder.rglob("*.py"):
        source.unlink()
    return folder


def run(compiled: Path, vault: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, *arguments],
        cwd=vault,
        env={**os.environ, "PYTHONPATH": str(compiled), "WATERSMEET__INDEX__DENSE": "", **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("settings", ["", SETTINGS])
def test_it_syncs_and_searches(compiled: Path, vault: Path, home: Path, settings: str) -> None:
    if settings:
        (home / "config" / "watersmeet").mkdir(parents=True)
        (home / "config" / "watersmeet" / "watersmeet.toml").write_text(settings, "utf8")
    synced = run(compiled, vault, "sync", ".", "--json")
    assert synced.returncode == 0, synced.stderr
    assert json.loads(synced.stdout)["embedded"] > 0
    found = run(compiled, vault, "search", "error TRN-1042", "--json", "--explain")
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert (answer["mode"], answer["failures"]) == ("hybrid", [])
    assert answer["results"][0]["document"] == "guides/keys.md"
    checked = run(compiled, vault, "doctor")
    assert checked.returncode == 0, checked.stdout
    assert ("fts5: " if settings else "tantivy: ") in checked.stdout


def test_it_knows_what_there_is(compiled: Path, vault: Path) -> None:
    """Names are listed, and helpers are not among them."""
    assert run(compiled, vault, "sync", ".", "--no-vectors").returncode == 0
    for setting, said in (
        ("INDEX__TEXT", "no text store\n  hint: known: fts5, tantivy\n"),
        ("PIPELINE__FUSION", "no fusion\n  hint: known: convex, legacy, linear, rrf\n"),
    ):
        wrong = run(compiled, vault, "search", "keys", **{f"WATERSMEET__{setting}": "view"})
        assert (wrong.returncode, wrong.stderr.endswith(said)) == (2, True), wrong.stderr
