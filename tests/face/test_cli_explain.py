"""What `--explain` says of the whole answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]

MODELS = {"WATERSMEET__INDEX__VECTORS": "true", "WATERSMEET__INDEX__DENSE": "hashed"}  # no model to load


@pytest.mark.model
def test_related_terms_are_shown(run: Run, fresh: Path) -> None:
    def search(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run("search", "flames", "--recipe", "notes", *arguments, cwd=fresh, **MODELS)

    (fresh / "safety.md").write_text("# Safety\n\nKeep extinguishers where a fire may break out.\n", "utf8")
    assert run("sync", ".", cwd=fresh, **MODELS).returncode == 0
    found = json.loads(search("--explain", "--json").stdout)
    assert "fire" in found["expansion"]
    assert len(found["expansion"]) == 3
    said = f"related terms, for vector search: {', '.join(found['expansion'])}"
    assert said in search("--explain").stderr.splitlines()
    assert said in search("--explain", "--format", "markdown").stderr.splitlines()
    assert "expansion" not in json.loads(search("--json").stdout)
    assert "related terms" not in search().stderr + search("--explain", "--quiet").stderr


def test_where_there_are_none_none_are_shown(run: Run) -> None:
    assert "expansion" not in json.loads(run("search", "keys", "--explain", "--json").stdout)
    assert "related terms" not in run("search", "keys", "--explain").stderr


RULES = """
[[query.route.rules]]
match = "ticket"
filters = {team = "support"}

[[query.route.rules]]
match = "invoice|refund"
filters = {team = ["billing", "sales"]}
weights = {lexical = 0.6}
only = ["lexical", "exact"]
"""


def test_the_rule_of_the_router_is_shown(run: Run, fresh: Path) -> None:
    def search(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run("search", *arguments, cwd=fresh)

    (fresh / "watersmeet.toml").write_text(RULES, "utf8")
    (fresh / "pay.md").write_text("---\nteam: billing\n---\n# Pay\n\nA refund of the invoice.\n", "utf8")
    assert run("sync", ".", cwd=fresh).returncode == 0
    found = json.loads(search("refund", "--explain", "--json").stdout)
    added = {"filters": {"team": ["billing", "sales"]}, "weights": {"lexical": 0.6}, "only": ["lexical", "exact"]}
    assert found["routed"] == [{"rule": 2, "match": "invoice|refund", "added": added}]
    line = "router: rule 2 (invoice|refund) adds team=billing, team=sales, weight lexical=0.6, only lexical, exact"
    assert line in search("refund", "--explain").stderr.splitlines()
    ticket = json.loads(search("refund ticket", "--explain", "--json").stdout)["routed"]
    assert [(one["rule"], one["added"]) for one in ticket] == [(1, {"filters": {"team": ["support"]}})]
    nothing = search("refund ticket", "--explain")
    assert "router: rule 1 (ticket) adds team=support" in nothing.stderr.splitlines()
    assert nothing.returncode == 1  # and here is why
    assert json.loads(search("pay", "--explain", "--json").stdout)["routed"] == []
    assert "routed" not in json.loads(search("refund", "--json").stdout)
    assert "router" not in search("refund").stderr + search("pay", "--explain").stderr


def test_other_spellings_are_shown(run: Run, fresh: Path) -> None:
    def search(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run("search", *arguments, cwd=fresh)

    (fresh / "tumours.md").write_text(
        "# Tumours\n\nMetastases grow slowly, the login page too. We log hours.\n", "utf8"
    )
    assert run("sync", ".", cwd=fresh).returncode == 0
    assert "spelling: matasteses -> metastases" in search("matasteses").stderr.splitlines()
    assert "spelling: log in also login" in search("log in", "--explain").stderr.splitlines()
    assert "spelling" not in search("log in").stderr + search("metastases", "--explain").stderr
    assert "spelling" not in search("matasteses", "--quiet").stderr
    found = json.loads(search("matasteses", "--json").stdout)
    assert found["spelling"] == [{"word": "matasteses", "written": "metastases", "instead": True}]
    assert "spelling" not in json.loads(search("metastases", "--json").stdout)
