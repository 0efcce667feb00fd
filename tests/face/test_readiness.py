"""`/ready` says which part keeps a server from answering; `/health` only that it lives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from serving import served
from watersmeet import Client, Engine
from watersmeet.core.errors import IndexProblem
from watersmeet.core.index import Check
from watersmeet.engine.settings.settings import load
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server


def _vectors_engine(folder: Path) -> Engine:
    return Engine(folder / "index", load(start=str(folder), environ={"WATERSMEET__INDEX__DENSE": ""}))


def test_the_index_that_is_gone_is_named_and_the_process_lives(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    with served(engine, host="0.0.0.0") as site:  # noqa: S104 - as if it listened on all addresses
        ready = site.ask("/ready")
        assert (ready.status, ready.json()["ready"], ready.json()["state"]) == (200, True, "ready")
        assert {one["name"]: one["ok"] for one in ready.json()["checks"]} == dict.fromkeys(
            ("index", "catalogue", "words"), True
        )
        assert site.ask("/health").json() == {"status": "ok"}
        Path(engine.folder).rename(vault / "moved")  # in one step: SQLite deletes files of its own meanwhile
        gone = site.ask("/ready")
        alive = site.ask("/health")
    assert (gone.status, gone.headers["Retry-After"]) == (503, "1")
    assert gone.headers["Content-Type"] == "application/problem+json"
    found = gone.json()
    assert (found["ready"], found["state"], found["detail"]) == (
        False,
        "not ready",
        "there is no index in the index folder",
    )
    assert "sync" in found["hint"]
    assert [(one["name"], one["ok"]) for one in found["checks"]] == [("index", False)]
    assert (alive.status, alive.json()) == (200, {"status": "not ready"})


def test_vectors_that_cannot_be_read_leave_it_ready_but_degraded(tmp_path: Path, vault: Path) -> None:
    with _vectors_engine(tmp_path) as engine:
        engine.sync([vault])
        with engine.snapshot() as snapshot:
            folder = Path(engine.folder) / snapshot.tiers()["static"].folder
        engine.close()
    folder.rename(tmp_path / "away")
    with _vectors_engine(tmp_path) as engine, served(engine) as site:
        found = site.ask("/ready")
        assert (found.status, found.json()["state"]) == (200, "degraded")
        wrong = [one for one in found.json()["checks"] if not one["ok"]]
        assert [(one["name"], one["required"]) for one in wrong] == [("static vectors", False)]
        assert "watersmeet sync" in wrong[0]["hint"]
        assert site.ask("/health").json() == {"status": "ok"}
        assert site.ask("/api/search", {"query": "keys"}).json()["results"]  # which is what ready means


def test_a_server_that_the_index_is_on_is_named(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    dead = Check("Qdrant", False, "http://qdrant-1:6333 does not answer", "start it")

    class OnServers(type(engine.index)):  # type: ignore[misc] # a folder that says of a server what one on servers says
        def servers(self) -> list[Check]:
            return [Check("PostgreSQL", True, "answers"), dead]

    local: Any = engine.index
    with Engine(OnServers(local.place, local.make)) as on_servers, served(on_servers) as site:
        found = site.ask("/ready")
    assert (found.status, found.json()["detail"], found.json()["hint"]) == (503, dead.detail, dead.hint)
    assert {one["name"]: one["ok"] for one in found.json()["checks"]}["PostgreSQL"]


def test_reasons_are_for_who_has_a_token(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    tokens = Tokens()
    _, sent = tokens.create("read")
    with served(engine, host="0.0.0.0", tokens=tokens) as site:  # noqa: S104 - that is the point
        stranger, holder = site.ask("/ready"), site.ask("/ready", token=sent)
        assert (stranger.status, holder.status) == (200, 200)
        assert all(set(one) == {"name", "ok", "required"} for one in stranger.json()["checks"])
        assert holder.json()["checks"][1]["detail"].endswith("documents")


def test_a_client_tells_what_is_wrong(engine: Engine, vault: Path) -> None:
    with served(engine) as site:
        client = Client(site.url)
        with pytest.raises(IndexProblem, match="there is no index") as problem:
            client.check()
        assert "sync" in problem.value.hint
        engine.sync([vault])
        client.check()
