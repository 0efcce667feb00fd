"""A registry in MongoDB: what one index registers, another finds; gateways beside them; an outage changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import mongodb_server
from watersmeet import Engine
from watersmeet.core.entities import Ability, Entity, Refused, Tool, entity_of, record
from watersmeet.core.errors import ConfigError, DatabaseDown, DatabaseProblem, VersionConflict
from watersmeet.core.registry_records import SharedRecords
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.registry.shared_records import ThroughRecords, close_shared, entity_in, shared_records
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.records import LocalRecords
from watersmeet.testing.contracts.records import RecordsContract

Open = Callable[..., Engine]
TIDES = Entity("mcp_server", "/tides", "Tides", "When the sea comes", tools=(Tool("next", "The next tide"),))
PDF = Entity("skill", "/skills/pdf", "PDF", "Fill forms", metadata={"author": "ann", "level": 3}, body="Read it.")
TRAVEL = Entity(
    "a2a_agent",
    "/agents/travel",
    "Travel",
    "Plans journeys",
    tags=("trip",),
    visibility="group",
    groups=("crew",),
    owner="ann",
    capabilities=("streaming",),
    skills=(Ability("book", "Books flights"),),
)
VIRTUAL = Entity(
    "virtual_server",
    "/virtual/sea",
    "Sea",
    "All about the sea",
    tools=(Tool("tide", "The next one"),),
    metadata={"server_name": "Sea", "num_tools": 1, "backend_paths": ["/tides"], "backend_count": 1}
    | {"required_scopes": ["sea"], "supported_transports": ["http"], "created_by": "ann"},
    extra={
        "tool_mappings": [
            {"tool_name": "next", "alias": "tide", "backend_server_path": "/tides"}
            | {"description_override": "The next one"}
        ]
    },
)
ALL = (TIDES, PDF, TRAVEL, VIRTUAL)
OWNER = Viewer(all=True)


def settings(uri: str, database: str, **more: Any) -> Any:
    flags = {
        "index": {"dense": "hashed", "static": "", "sparse": ""},
        "registry": {"records": "mongodb"},
        "records": {"mongodb": {"uri": uri, "database": database, "timeout": 2.0, **more}},
    }
    return load(environ={}, flags=flags)


@pytest.fixture
def opened(tmp_path: Path, mongodb: str, database: str) -> Iterator[Open]:
    """Indexes by name, over one database."""
    with ExitStack() as stack:
        stack.callback(close_shared)

        def open_index(name: str = "a", uri: str = mongodb, **more: Any) -> Engine:
            return stack.enter_context(Engine(tmp_path / name, settings(uri, database, **more)))

        yield open_index


def shared(engine: Engine) -> SharedRecords:
    found = shared_records(engine.settings)
    assert found is not None
    return found


def collection(engine: Engine, name: str) -> Any:
    """A collection as a gateway sees it."""
    return shared(engine)._connection.collection(name)  # type: ignore[attr-defined]


def names(engine: Engine, query: str, **options: Any) -> list[str]:
    found = engine.registry.search(EntityRequest(query, max_results=10, **options)).to_json()
    return [one["path"] for group in ("servers", "agents", "skills", "virtual_servers") for one in found[group]]


@pytest.mark.server
class TestThroughContract(RecordsContract):
    """A shared database with a copy in the index is a store of records like any other."""

    @pytest.fixture
    def records(self, tmp_path: Path, mongodb: str, database: str) -> Iterator[ThroughRecords]:
        found = shared_records(settings(mongodb, database))
        assert found is not None
        catalogue = Catalogue(str(tmp_path / "index"))
        yield ThroughRecords(found, LocalRecords(catalogue))
        catalogue.close()
        close_shared()


@pytest.mark.server
class TestTwoIndexes:
    def test_what_one_registers_the_other_finds_as_it_is(self, opened: Open) -> None:
        one, other = opened("a"), opened("b")
        assert one.registry.put(*ALL).registered == 4
        report = other.registry.pull()
        assert (report.records, report.registered, report.removed, report.skipped) == (4, 4, 0, [])
        assert other.registry.listing() == one.registry.listing()
        again = other.registry.pull()
        assert (again.registered, again.unchanged) == (0, 0), "nothing is read again"
        whole = other.registry.pull(whole=True)
        assert (whole.registered, whole.only_here) == (0, [])

    def test_changes_and_removals_go_both_ways(self, opened: Open) -> None:
        one, other = opened("a"), opened("b")
        one.registry.put(*ALL)
        assert other.registry.set_status("/tides", "deprecated") == 1, "a change pulls first"
        other.registry.disable("/skills/pdf")
        one.registry.pull()
        assert one.registry.get("/tides")["status"] == "deprecated"
        assert one.registry.get("/skills/pdf")["enabled"] is False
        one.registry.unregister(["/tides", "/agents/travel"])
        report = other.registry.pull()
        assert report.removed == 2
        assert [found["path"] for found in other.registry.listing(include_disabled=True)] == [
            "/skills/pdf",
            "/virtual/sea",
        ]
        with other.snapshot() as snapshot:
            assert dict(snapshot.kinds()) == {"skill": 1, "virtual_server": 1}, "the tools are gone too"

    def test_a_status_set_elsewhere_stays_when_the_same_record_is_registered_again(self, opened: Open) -> None:
        one, other = opened("a"), opened("b")
        one.registry.register([record(TIDES)])
        one.registry.set_status("/tides", "beta")
        assert other.registry.register([record(TIDES)]).unchanged == 1
        assert other.registry.get("/tides")["status"] == "beta"

    def test_equal_entities_are_ranked_as_they_were_registered(self, opened: Open) -> None:
        one, other = opened("a"), opened("b")
        twins = [Entity("skill", f"/s/{name}", "Herons", "Watch herons") for name in "zbya"]
        for twin in twins:
            one.registry.put(twin)
        other.registry.pull()
        for recipe in ("", "registry"):
            for mode in ("", "lexical"):
                wanted = names(one, "herons", recipe=recipe, mode=mode)
                assert len(wanted) == 4
                assert names(other, "herons", recipe=recipe, mode=mode) == wanted

    def test_a_kill_between_database_and_index_is_made_good(self, opened: Open) -> None:
        one = opened("a")
        one.registry.put(TIDES)
        shared(one).put(record(PDF), None)  # as if the process had ended here
        assert names(one, "forms", mode="lexical") == []
        assert one.registry.pull().registered == 1
        assert names(one, "forms", mode="lexical") == ["/skills/pdf"]

    def test_of_two_changes_at_once_one_is_refused(self, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other = opened("a"), opened("b")
        one.registry.put(TIDES)
        store = shared(one)
        read = store.get("/tides")
        assert read is not None
        found = type(store).get

        def slow(self: Any, path: str) -> Any:
            """Read, and somebody else is quicker."""
            stored = found(self, path)
            monkeypatch.undo()
            other.registry.set_status("/tides", "beta")
            return stored

        monkeypatch.setattr(type(store), "get", slow)
        with pytest.raises(VersionConflict, match="/tides") as problem:
            one.registry.disable("/tides")
        assert problem.value.hint
        one.registry.pull()
        assert one.registry.get("/tides")["status"] == "beta"
        one.registry.disable("/tides")
        other.registry.pull()
        assert (other.registry.get("/tides")["status"], other.registry.get("/tides")["enabled"]) == ("beta", False)


@pytest.mark.server
class TestGateway:
    def test_its_collections_are_read_and_followed(self, opened: Open) -> None:
        engine = opened()
        now = datetime(2026, 3, 1)
        servers = collection(engine, "mcp_servers")
        servers.insert_many(
            [
                {
                    "_id": "/weather/",
                    "server_name": "Weather",
                    "description": "Forecasts of rain",
                    "tool_list": [{"name": "forecast", "description": "Rain tomorrow", "schema": {"type": "object"}}],
                    "is_enabled": True,
                    "metadata": {"region": "us-east-1", "since": now},
                    "proxy_pass_url": "http://weather",
                    "registered_at": now.isoformat(),
                    "updated_at": now.isoformat(),
                },
                {"_id": "/broken", "server_name": "Broken", "status": "depricated", "updated_at": now.isoformat()},
            ]
        )
        collection(engine, "mcp_agents").insert_one(
            {"_id": "/agents/sail", "name": "Sail", "description": "Sails", "capabilities": {"streaming": True}}
            | {"skills": [{"id": "s", "name": "tack", "description": "Turns the boat"}], "updated_at": now}
        )
        report = engine.registry.pull()
        assert report.registered == 2
        assert [one.record for one in report.skipped] == ["/broken (/broken)"]
        found = engine.registry.get("/weather/")
        assert (found["name"], found["tools"][0]["name"]) == ("Weather", "forecast")
        assert found["extra"].items() >= {"proxy_pass_url": "http://weather"}.items()
        assert found["metadata"] == {"region": "us-east-1", "since": now.isoformat()}
        assert names(engine, "turns the boat", mode="lexical") == ["/agents/sail"]
        servers.update_one(
            {"_id": "/weather/"},
            {"$set": {"description": "Forecasts of snow", "updated_at": (now + timedelta(seconds=1)).isoformat()}},
        )
        collection(engine, "mcp_agents").delete_one({"_id": "/agents/sail"})
        report = engine.registry.pull()
        assert (report.registered, report.removed) == (1, 1)
        assert engine.registry.get("/weather/")["description"] == "Forecasts of snow"
        engine.registry.set_status("/weather/", "deprecated")
        after = servers.find_one({"_id": "/weather/"})
        assert (after["status"], after["proxy_pass_url"]) == ("deprecated", "http://weather")
        assert after["registered_at"] == now.isoformat()
        assert servers.count_documents({}) == 2

    def test_it_can_read_what_is_registered_here(self, opened: Open) -> None:
        """Our documents without our own field are those of a gateway, and mean the same."""
        engine = opened()
        engine.registry.put(*ALL)
        for base in ("mcp_servers", "mcp_agents", "agent_skills", "virtual_servers"):
            later = datetime.now(UTC).isoformat()
            collection(engine, base).update_many({}, {"$unset": {"watersmeet": 1}, "$set": {"updated_at": later}})
        for wanted in ALL:
            stored = shared(engine).get(wanted.path)
            assert stored is not None
            found = entity_in(stored.record)
            assert isinstance(found, Entity)
            ours, theirs = record(wanted), record(found)
            kept = {key: value for key, value in theirs["extra"].items() if key in wanted.extra}
            assert {**theirs, "extra": kept} == {**ours, "extra": dict(wanted.extra)}

    def test_a_record_that_is_no_entity_is_refused(self) -> None:
        assert isinstance(entity_in({"kind": "skill", "path": "/a"}), Refused)
        assert isinstance(entity_in({"kind": "skull", "path": "/a", "name": "a"}), Refused)
        assert entity_in(record(TIDES)) == entity_of(record(TIDES))


@pytest.mark.server
@pytest.mark.kill
def test_an_outage_is_named_and_the_last_state_answers(
    request: pytest.FixtureRequest, opened: Open, mongodb: str
) -> None:
    server = mongodb_server.Engine(mongodb_server.short_folder())
    request.addfinalizer(server.kill)
    engine = opened(uri=server.uri, timeout=0.5)
    engine.registry.put(*ALL)
    wanted = names(engine, "sea")
    server.kill()
    for change in (engine.registry.pull, lambda: engine.registry.disable("/tides"), lambda: engine.registry.put(PDF)):
        with pytest.raises(DatabaseDown, match="does not answer"):
            change()
    assert engine.registry.get("/tides")["enabled"] is True, "nothing was changed here either"
    found = engine.registry.search("sea")
    assert names(engine, "sea") == wanted
    assert [failure.by for failure in found.failures] == ["database"]
    assert "does not answer, since 20" in found.failures[0].reason
    assert "records are of 20" in found.failures[0].reason
    limited = engine.registry.search(EntityRequest("sea", viewer=EVERYONE)).failures[0].reason
    assert "mongodb" not in limited
    assert engine.registry.find_tools("tide").failures[-1].by == "database"
    assert engine.status()["database"]["problem"]
    assert [check.ok for check in engine.doctor() if check.name == "database"] == [False]
    server.start()
    engine.registry.disable("/tides")
    assert engine.registry.search("sea").failures == ()
    assert engine.status()["database"]["problem"] is None
    assert next(check.detail for check in engine.doctor() if check.name == "database").endswith("4 records")


def test_without_a_database_there_is_nothing_to_pull(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="index alone") as problem:
        engine.registry.pull()
    assert "registry.records" in problem.value.hint
    engine.registry.put(TIDES)
    assert "database" not in engine.status()
    assert not [check for check in engine.doctor() if check.name == "database"]
    found = engine.registry.statistics()
    assert (found["records"], found["entity_types"], found["embeddings"]) == ("local", {"mcp_server": 1}, None)


@pytest.mark.parametrize("missing", ["connection string", "pymongo"])
def test_what_is_missing_is_named_and_the_index_answers(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(tmp_path / "index", load(environ={}, flags={"index": {"vectors": False}})) as engine:
        engine.registry.put(TIDES)
    if missing == "pymongo":
        monkeypatch.setitem(sys.modules, "pymongo", None)
    uri = "" if missing == "connection string" else "mongodb://127.0.0.1:9"
    with Engine(tmp_path / "index", settings(uri, "db", vector_search="cosine")) as engine:
        assert names(engine, "sea", mode="lexical") == ["/tides"]
        assert engine.status()["database"]["problem"] is None, "nobody has tried yet"
        for change in (engine.registry.pull, lambda: engine.registry.disable("/tides")):
            with pytest.raises(DatabaseProblem, match=missing) as problem:
                change()
            assert problem.value.hint
        assert missing in engine.registry.search(EntityRequest("sea", mode="lexical")).failures[0].reason
        assert missing in engine.status()["database"]["problem"]
    close_shared()


@pytest.mark.server
class TestPublish:
    def test_entities_are_written_through_with_their_vectors(self, opened: Open) -> None:
        engine = opened(write_through=True)
        assert engine.registry.pull().published == 0, "nothing is registered yet"
        engine.registry.put(*ALL)
        found = engine.registry.statistics()
        dimension = found["embeddings"]["dimension"]
        kinds = {"mcp_server": 1, "a2a_agent": 1, "skill": 1, "virtual_server": 1}
        assert found["entity_types"] == found["embeddings"]["entity_types"] == kinds
        assert found["embeddings"]["collection"] == f"mcp_embeddings_{dimension}"
        assert (found["embeddings"]["without_embedding"], found["tools"]) == (0, 1)
        limited = engine.registry.statistics(EVERYONE)
        assert limited["entity_types"] == {"mcp_server": 1, "skill": 1, "virtual_server": 1}
        assert limited["embeddings"]["entity_types"] == limited["entity_types"]
        assert "database" not in limited
        base = f"mcp_embeddings_{dimension}"
        before = collection(engine, base).find_one({"_id": "/tides"})
        assert len(before["embedding"]) == dimension
        engine.registry.set_status("/tides", "deprecated")
        after = collection(engine, base).find_one({"_id": "/tides"})
        assert (after["status"], after["embedding"]) == ("deprecated", before["embedding"])
        engine.registry.unregister("/skills/pdf")
        assert collection(engine, base).count_documents({}) == 3
        assert engine.registry.pull().published == 0

    def test_an_index_that_is_behind_deletes_nothing(self, opened: Open) -> None:
        one, other = opened("a", write_through=True), opened("b", write_through=True)
        one.registry.put(TIDES)
        other.registry.pull()
        base = one.registry.statistics()["embeddings"]["collection"]
        one.registry.put(PDF)
        from watersmeet.engine.registry.publish import publish

        publish(other, shared(other))
        assert collection(one, base).count_documents({}) == 2

    def test_without_it_nothing_is_written(self, opened: Open) -> None:
        engine = opened()
        engine.registry.put(TIDES)
        assert engine.registry.statistics()["embeddings"] is None
        names = collection(engine, "mcp_servers").database.list_collection_names()
        assert not [name for name in names if name.startswith("mcp_embeddings")]
