"""The cost of a sync on every face: a line and a question on a terminal, a refusal elsewhere, and how to confirm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embedding_servers import ollama
from mcp_calls import asked
from serving import served
from terminals import answering
from watersmeet import Client, Engine
from watersmeet.core.errors import CostRefused
from watersmeet.embed import _remote
from watersmeet.engine.settings.settings import load
from watersmeet.face.mcp.server import make
from watersmeet.face.service import Service
from web import Site, running

pytestmark = pytest.mark.server

Run = Callable[..., Any]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server of a model that costs a dollar a token."""
    _remote.dimensions.clear()
    with running(Site()) as made:
        made.always = ollama()
        for name, value in {
            "INDEX__VECTORS": "true",
            "INDEX__DENSE": "ollama",
            "EMBED__OLLAMA__BASE_URL": made.url,
            "EMBED__OLLAMA__PRICE_PER_MILLION_TOKENS": "1000000",
        }.items():
            monkeypatch.setenv(f"WATERSMEET__{name}", value)
        yield made


def test_on_the_command_line(run: Run, vault: Path, tmp_path: Path, site: Site) -> None:
    tried = run("sync", str(vault), "--dry-run", cwd=tmp_path)
    assert tried.returncode == 0
    assert "ollama (bge-m3): " in tried.stdout
    assert "above $1.00 (index.confirm_above): a sync asks, or needs --yes" in tried.stdout
    refused = run("sync", str(vault), "--json", cwd=tmp_path)
    report = json.loads(refused.stdout)
    assert (refused.returncode, report["added"], report["cost"]["must_confirm"]) == (2, 4, True)
    assert "hint: " in refused.stderr
    assert "--yes" in refused.stderr
    assert run("deepen", cwd=tmp_path).returncode == 2
    assert not site.bodies
    assert run("search", "rotate keys", cwd=tmp_path).returncode == 0  # by its words and quick vectors
    site.bodies.clear()  # the query
    done = run("sync", "--yes", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["embedded"]) == (0, report["chunks"])
    unknown = run("sync", "--dry-run", cwd=tmp_path, WATERSMEET__INDEX__DENSE="olama")
    assert (unknown.returncode, "did you mean 'ollama'?" in unknown.stderr) == (2, True)


def test_on_a_terminal(vault: Path, tmp_path: Path, site: Site) -> None:
    code, drawn = answering("n\n", "sync", str(vault), cwd=tmp_path, columns=120)
    assert code == 0
    assert "Embed them? [y/N]" in drawn
    assert "no vectors: " in drawn
    assert not site.bodies
    code, drawn = answering("y\n", "deepen", cwd=tmp_path, columns=120)
    assert (code, "chunks embedded" in drawn) == (0, True)
    assert site.bodies


def test_over_rest_mcp_and_the_client(vault: Path, tmp_path: Path, site: Site) -> None:
    with Engine(tmp_path / "index", load(start=str(tmp_path))) as engine:
        engine.sync([vault], vectors=False)
        with served(engine, allow_write=True) as rest:
            tried = rest.ask("/api/sync", {"dry_run": True}).json()["cost"]
            refused = rest.ask("/api/sync", {})
            assert (refused.status, refused.json()["cost"], refused.json()["error"]) == (402, tried, "CostRefused")
            assert "confirm" in refused.json()["hint"]
            with Client(rest.url) as client:
                with pytest.raises(CostRefused, match="texts to embed"):
                    client.sync()
                found = client.sync(dry_run=True).cost
                assert found is not None
                assert found.to_json() == tried
            service = Service(engine, allow_write=True)

            async def ask(session: Any) -> Any:
                return await session.call_tool("sync", {}), await session.call_tool("sync", {"confirm": True})

            refusal, done = asked(make(service, local=True), ask)
            assert refusal.is_error
            assert "index.confirm_above" in refusal.content[0].text
            assert not done.is_error
            assert done.structured_content["embedded"] == tried["texts"]
            assert rest.ask("/api/sync", {"confirm": True}).json()["cost"]["texts"] == 0
