"""A registry in MongoDB at the command line and in a server."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import served
from watersmeet import Engine
from watersmeet.core.visibility import Viewer
from watersmeet.engine.registry.shared_records import close_shared, shared_records
from watersmeet.engine.settings.settings import load

pytestmark = pytest.mark.server
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]
OWNER = Viewer(all=True)
DEAD = "mongodb://ann:s3cret-w0rd@127.0.0.1:1/?serverSelectionTimeoutMS=100"
RECORDS = [
    {"path": "/tides", "server_name": "Tides", "description": "When the sea comes", "tools": [{"name": "next"}]},
    {"path": "/agents/travel", "agent_name": "Travel", "description": "Plans journeys", "entity_type": "a2a_agent"},
    {"path": "/skills/pdf", "name": "PDF", "description": "Fill forms", "entity_type": "skill"},
    {"path": "/virtual/sea", "server_name": "Sea", "description": "All", "tool_mappings": [{"tool_name": "next"}]},
]


@pytest.fixture
def place(tmp_path: Path, mongodb: str, database: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "records.json").write_text(json.dumps(RECORDS))
    monkeypatch.setenv("MONGODB_URI", mongodb)
    monkeypatch.setenv("WATERSMEET__RECORDS__MONGODB__DATABASE", database)
    monkeypatch.setenv("WATERSMEET__RECORDS__MONGODB__WRITE_THROUGH", "true")
    monkeypatch.setenv("WATERSMEET__REGISTRY__RECORDS", "mongodb")
    monkeypatch.setenv("WATERSMEET__INDEX__DENSE", "hashed")
    return tmp_path


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_shared()


def test_commands(ask: Ask, run: Run, place: Path, mongodb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("register", "records.json", cwd=place)["registered"] == 4
    pulled = ask("pull", "--index", "other", cwd=place)
    assert [pulled[key] for key in ("records", "registered", "removed", "skipped")] == [4, 4, 0, []]
    shown = run("pull", "--index", "other", cwd=place).stdout
    assert "4 records in mongodb://" in shown
    assert ask("find-entities", "journeys", "--mode", "lexical", "--index", "other", cwd=place)["agents"]
    assert ask("status", "--index", "other", cwd=place)["database"]["problem"] is None
    assert "pulled just now" in run("status", "--index", "other", cwd=place).stdout

    monkeypatch.setenv("MONGODB_URI", DEAD)
    monkeypatch.setenv("WATERSMEET__RECORDS__MONGODB__TIMEOUT", "0.3")
    failed = run("pull", "--index", "other", cwd=place)
    assert failed.returncode == 2
    assert "does not answer" in failed.stderr
    found = run("find-entities", "journeys", "--mode", "lexical", "--index", "other", cwd=place)
    assert "Travel" in found.stdout
    assert "without database: mongodb://***@127.0.0.1:1/ does not answer, since 20" in found.stderr
    status = run("status", "--index", "other", cwd=place)
    doctor = run("doctor", "--index", "other", cwd=place)
    assert doctor.returncode == 2
    for said in (failed, found, status, doctor):
        assert "s3cret" not in said.stdout + said.stderr


def test_settings_show_what_documentdb_gets_and_no_secrets(
    ask: Ask, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATERSMEET__RECORDS__MONGODB__URI", DEAD)
    monkeypatch.setenv("VECTOR_SEARCH_EF_SEARCH", "250")
    found = ask("config", "show", "--quiet", cwd=place)["settings"]
    assert [found[f"records.mongodb.{key}"] for key in ("ef_search", "m", "ef_construction")] == [250, 16, 128]
    assert found["records.mongodb.uri"] == "***"
    assert "s3cret" not in run("config", "show", "--origin", cwd=place).stdout
    monkeypatch.setenv("WATERSMEET__RECORDS__MONGODB__EF_SEARCH", "40")
    assert ask("config", "show", "--quiet", cwd=place)["settings"]["records.mongodb.ef_search"] == 40


def test_a_folders_file_cannot_choose_a_database(run: Run, tmp_path: Path) -> None:
    """Registered records would be sent there: only the user's own settings name it."""
    text = '[registry]\nrecords = "mongodb"\n[records.mongodb]\nuri = "mongodb://ann:s3cret-w0rd@elsewhere"\n'
    (tmp_path / "watersmeet.toml").write_text(text)
    done = run("config", "show", "--json", cwd=tmp_path)
    assert "s3cret" not in done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["settings"]["registry.records"] == "local"
    left = {one["setting"]: one["value"] for one in found["ignored"]}
    assert left == {"registry.records": "mongodb", "records.mongodb.uri": "***"}


def test_a_server_follows_the_database_and_counts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATERSMEET__RECORDS__MONGODB__POLL_SECONDS", "0.1")
    settings = load(start=str(place))
    with Engine(place / "one", settings) as one, served(Engine(place / "two", settings), allow_write=True) as server:
        one.registry.register(RECORDS)
        server.service.start()
        _until(lambda: server.ask("/api/stats").json().get("documents") == 4)
        _until(lambda: server.service.status(OWNER)["database"]["pulled"])
        found = server.ask("/api/stats").json()
        kinds = {"a2a_agent": 1, "mcp_server": 1, "skill": 1, "virtual_server": 1}
        assert (found["records"], found["entity_types"], found["tools"]) == ("mongodb", kinds, 1)
        assert found["embeddings"]["entity_types"] == kinds
        assert found["embeddings"]["collection"] == f"mcp_embeddings_{found['embeddings']['dimension']}"
        one.registry.unregister("/skills/pdf")
        _until(lambda: "skill" not in server.ask("/api/stats").json()["entity_types"])
        assert server.ask("/api/entities/tides", {"status": "deprecated"}, "PATCH").status == 200
        one.registry.pull()
        assert one.registry.get("/tides")["status"] == "deprecated"
        shared = shared_records(settings)
        assert shared is not None
        monkeypatch.setattr(type(shared), "versions", _down)
        _until(lambda: server.service.status(OWNER)["database"]["problem"] == "it is down")
        answer = server.ask("/api/search/semantic", {"query": "journeys"}).json()
        assert answer["agents"]
        assert [failure["by"] for failure in answer["failures"]] == ["database"]


def _down(_: object) -> Any:
    from watersmeet.core.errors import DatabaseDown

    raise DatabaseDown("it is down")


def _until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def test_a_registry_moves_from_its_environment_file(
    ask: Ask, run: Run, tmp_path: Path, mongodb: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the variables of a gateway to its own collections, without a setting of ours."""
    (tmp_path / "records.json").write_text(json.dumps(RECORDS), "utf8")
    filled = {"MONGODB_URI": mongodb, "WATERSMEET__RECORDS__MONGODB__DATABASE": database}
    filled |= {"WATERSMEET__RECORDS__MONGODB__NAMESPACE": "production", "WATERSMEET__REGISTRY__RECORDS": "mongodb"}
    assert run("register", "records.json", "--index", "theirs", cwd=tmp_path, **filled).returncode == 0
    (tmp_path / ".env").write_text(
        f"STORAGE_BACKEND=mongodb-ce\nDOCUMENTDB_DATABASE={database}\nDOCUMENTDB_NAMESPACE=production\n"
        f"MONGODB_CONNECTION_STRING={mongodb}\nSEARCH_FUSION_METHOD=legacy\n",
        "utf8",
    )
    made = ask("config", "import", ".env", cwd=tmp_path)
    assert made["next"] == ["watersmeet trust .", "watersmeet pull"]
    assert mongodb not in json.dumps(made)
    run("trust", ".", cwd=tmp_path)
    monkeypatch.setenv("MONGODB_CONNECTION_STRING", mongodb)
    assert ask("pull", cwd=tmp_path)["registered"] == 4
    found = ask("find-entities", "journeys", cwd=tmp_path)
    assert (found["recipe"], found["agents"][0]["path"]) == ("registry", "/agents/travel")
    assert ask("config", "show", cwd=tmp_path)["settings"]["pipeline.fusion"] == "legacy"
