"""Quality by REST: an evaluation is stored with its index, and shown to whom nothing of the index is hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from serving import Served, served
from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.engine.calibration.opened_results import add_opened
from watersmeet.engine.index.state_names import LAST_EVALUATION, OPENED_RESULTS
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import cli
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server


@pytest.fixture
def index(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An index of words only, that was measured."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    place = str(tmp_path / "measured")
    for words in (["sync", "vault"], ["eval", "--from-corpus", "--queries", "12", "--seed", "3"]):
        done = CliRunner().invoke(cli, [*words, "--index", place, "--quiet"])
        assert done.exit_code == 0, done.output
    return place


@pytest.fixture
def engine(index: str) -> Iterator[Engine]:
    with Engine(index, load()) as opened:
        yield opened


def told(site: Served, token: str = "", **headers: str) -> dict[str, Any]:
    answer = site.ask("/api/quality", token=token, **headers)
    assert answer.status == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_the_owner_sees_figures_queries_and_how_they_were_made(engine: Engine, tmp_path: Path) -> None:
    add_opened(engine.index.state(OPENED_RESULTS), "rotate keys", "guides/keys.md")
    with served(engine, tokens=Tokens(str(tmp_path / "none.json"))) as site:
        found = told(site)
    assert found["opened_results"] == [{"query": "rotate keys", "document": "guides/keys.md"}]
    measured = found["evaluation"]
    assert measured["command"] == "watersmeet eval --from-corpus --queries 12 --seed 3"
    assert measured["documents"] == found["documents"]
    assert set(measured["classes"]) == set(measured["class_intervals"])
    low, high = measured["intervals"]["fused"]
    assert 0 <= low <= measured["metrics"]["ndcg@10"] <= high <= 1
    assert all(set(one) == {"query", "expected", "rank", "quality"} for one in measured["weakest"])
    assert found["commands"]["evaluate"] == f"watersmeet eval --from-corpus --index {engine.folder}"
    assert found["calibration"]["judged"] == 0


def test_nobody_else_sees_what_was_measured(engine: Engine, tmp_path: Path) -> None:
    tokens = Tokens(str(tmp_path / "tokens.json"))
    add_opened(engine.index.state(OPENED_RESULTS), "rotate keys", "guides/keys.md")
    with served(engine, tokens=Tokens(str(tmp_path / "none.json"))) as site:
        assert told(site)["shown"]
        assert not told(site, X_Forwarded_For="10.0.0.9")["shown"]
    _, reader = tokens.create("read")
    _, writer = tokens.create("write")
    with served(engine, tokens=tokens) as site:
        for token in ("", reader, writer):
            found = told(site, token)
            assert (found["shown"], found["evaluation"], found["opened_results"]) == (False, None, [])
            assert engine.folder not in json.dumps(found)


def test_one_private_entry_is_enough_to_withhold_it(engine: Engine, tmp_path: Path) -> None:
    engine.registry.put(Entity("skill", "/of-ann", "of ann", visibility="private", owner="ann"))
    with served(engine, tokens=Tokens(str(tmp_path / "none.json"))) as site:
        found = told(site)
    assert (found["shown"], found["evaluation"]) == (False, None)


def test_an_index_that_was_not_measured_or_is_damaged_says_how(engine: Engine, tmp_path: Path) -> None:
    state = engine.index.state(LAST_EVALUATION)
    for content in (None, b"{", b'{"version": 99}'):
        with state.changing(1) as change:
            change.write(content)
        with served(engine, tokens=Tokens(str(tmp_path / "none.json"))) as site:
            found = told(site)
        assert (found["shown"], found["evaluation"]) == (True, None)


def test_an_export_leaves_it_out(index: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["export", str(tmp_path / "out"), "--index", index, "--quiet"])
    assert done.exit_code == 0, done.output
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if b"--from-corpus --queries 12" in path.read_bytes()] == []
