"""What `--explain` says of the whole answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]

MODELS = {"WATERSMEET__INDEX__VECTORS": "true", "WATERSMEET__INDEX__DENSE": "hashed"}  # no model to load


def test_related_terms_are_shown(run: Run, fresh: Path) -> None:
    def search(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run("search", "flames", "--recipe", "notes", *arguments, cwd=fresh, **MODELS)

    (fresh / "safety.md").write_text("# Safety\n\nKeep extinguishers where a fire may break out.\n", "utf8")
    assert run("sync", ".", cwd=fresh, **MODELS).returncode == 0
    found = json.loads(search("--explain", "--json").stdout)
    assert "fire" in found["expansion"]
    assert len(found["expansion"]) == 3
    said = f"related terms, for meaning: {', '.join(found['expansion'])}"
    assert said in search("--explain").stderr.splitlines()
    assert said in search("--explain", "--format", "markdown").stderr.splitlines()
    assert "expansion" not in json.loads(search("--json").stdout)
    assert "related terms" not in search().stderr + search("--explain", "--quiet").stderr


def test_where_there_are_none_none_are_shown(run: Run) -> None:
    assert "expansion" not in json.loads(run("search", "keys", "--explain", "--json").stdout)
    assert "related terms" not in run("search", "keys", "--explain").stderr
