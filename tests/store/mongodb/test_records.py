"""Registry records in MongoDB: the contract over the server's own code, and the gateway's documents beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import mongodb_server
from watersmeet.core.entities import Entity, Tool, record
from watersmeet.core.errors import ConfigError, DatabaseDown, DatabaseProblem, VersionConflict
from watersmeet.store.mongodb.records import COUNTER, Mongodb
from watersmeet.testing.contracts.records import RecordsContract, changes

SERVER = record(Entity("mcp_server", "/tides", "Tides", "When the sea comes", tools=(Tool("next", "The next tide"),)))
DEAD = "mongodb://ann:s3cret-w0rd@127.0.0.1:1/?authSource=admin&appName=private-app"


@pytest.fixture
def records(mongodb: str, database: str) -> Iterator[Mongodb]:
    with closing(Mongodb(uri=mongodb, database=database)) as made:
        yield made


def stored(records: Mongodb, base: str) -> Any:
    """The collection itself, as another program sees it."""
    return records._connection.collection(base)


@pytest.mark.server
class TestContract(RecordsContract):
    pass


@pytest.mark.server
class TestGateway:
    def test_its_documents_are_read_as_they_are(self, records: Mongodb) -> None:
        document = {
            "_id": "/context7",
            "server_name": "Context7 MCP Server",
            "tool_list": [{"name": "query-docs", "description": "Docs", "inputSchema": {"$schema": "x"}}],
            "is_enabled": True,
            "is_active": True,
            "proxy_pass_url": "https://mcp.context7.com/mcp",
            "registered_at": "2026-01-10T00:00:00Z",
            "updated_at": "2026-01-14T00:00:00.25",
        }
        old = {"_id": "/context7:v1.5.0", "server_name": "Context7", "is_active": False, "updated_at": "2026-01-14"}
        stored(records, "mcp_servers").insert_many([document, old])
        stored(records, "agent_skills").insert_one({"_id": "/skills/pdf", "path": "/skills/pdf", "name": "PDF"})
        found = records.get("/context7")
        assert found is not None
        assert found.record["entity_type"] == "mcp_server"
        assert found.record["path"] == "/context7"
        assert found.record["tool_list"] == document["tool_list"]
        assert "_id" not in found.record
        assert found.version == 1768348800_250000  # microseconds of updated_at
        assert records.get("/context7/") == found, "a slash at the end makes no other path"
        assert {path: version[0] for path, version in records.versions().items()} == {
            "/context7": found.version,
            "/skills/pdf": 1,
        }
        assert [one.record["path"] for one in records] == ["/context7", "/skills/pdf"]
        assert changes(records)[0] == {"/context7": False, "/skills/pdf": False}
        assert dict(records.several(["/context7", "/nothing"])) == {"/context7": found}

    def test_a_change_leaves_the_gateways_other_fields(self, records: Mongodb) -> None:
        document = {"_id": "/tides", "server_name": "Tides", "proxy_pass_url": "http://tides", "num_stars": 4.5}
        stored(records, "mcp_servers").insert_one({**document, "updated_at": "2026-01-14T00:00:00"})
        found = records.get("/tides")
        assert found is not None
        records.put({**SERVER, "status": "deprecated"}, found.version)
        after = stored(records, "mcp_servers").find_one({"_id": "/tides"})
        assert (after["proxy_pass_url"], after["num_stars"], after["status"]) == ("http://tides", 4.5, "deprecated")
        assert after["tool_list"] == [{"name": "next", "description": "The next tide", "inputSchema": {}}]
        assert after["updated_at"] > "2026-11"

    @pytest.mark.parametrize("stamp", ["2027-01-01T00:00:00", "2027-01-01T00:00:00+02:00", "yesterday"])
    def test_its_change_is_a_new_version(self, records: Mongodb, stamp: str) -> None:
        version = records.put(SERVER, None)
        stored(records, "mcp_servers").update_one(
            {"_id": "/tides"}, {"$set": {"description": "Tides of all coasts", "updated_at": stamp}}
        )
        with pytest.raises(VersionConflict):
            records.put(SERVER, version)
        with pytest.raises(VersionConflict):
            records.delete("/tides", version)
        found = records.get("/tides")
        assert found is not None
        assert found.record["description"] == "Tides of all coasts"
        assert found.record["entity_type"] == "mcp_server"
        records.put(SERVER, found.version)

    def test_an_entity_of_another_kind_moves_to_its_collection(self, records: Mongodb) -> None:
        version = records.put(SERVER, None)
        records.put({**SERVER, "kind": "a2a_agent"}, version)
        assert stored(records, "mcp_servers").count_documents({}) == 0
        found = records.get("/tides")
        assert found is not None
        assert found.record["kind"] == "a2a_agent"

    def test_a_name_that_must_be_unique_there(self, records: Mongodb) -> None:
        stored(records, "agent_skills").create_index("name", unique=True)
        records.put({"kind": "skill", "path": "/a", "name": "PDF"}, None)
        with pytest.raises(DatabaseProblem, match="same name"):
            records.put({"kind": "skill", "path": "/b", "name": "PDF"}, None)

    def test_the_namespace_ends_the_names(self, mongodb: str, database: str) -> None:
        with closing(Mongodb(uri=mongodb, database=database, namespace="default")) as records:
            records.put(SERVER, None)
            names = records._connection.database.list_collection_names()
        assert sorted(names) == ["mcp_servers_default", "watersmeet_counter_default"]


@pytest.mark.server
class TestWriters:
    def test_of_two_writers_one_is_refused_and_nothing_is_lost(self, mongodb: str, database: str) -> None:
        command = [sys.executable, "-c", mongodb_server.COUNT_UP, mongodb, database, "40", "1"]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        conflicts = sum(int(one.communicate(timeout=120)[0]) for one in running)
        with closing(Mongodb(uri=mongodb, database=database)) as records:
            found = records.get("/0")
        assert found is not None
        assert found.record["n"] == 120
        assert conflicts > 0, "they never met"

    def test_a_lost_counter_gives_no_version_twice(self, records: Mongodb) -> None:
        first = records.put(SERVER, None)
        stored(records, COUNTER).delete_many({})
        assert records.put(SERVER, first) > first


@pytest.mark.server
@pytest.mark.kill
def test_what_was_acknowledged_survives_a_kill(request: pytest.FixtureRequest, mongodb: str, database: str) -> None:
    """Killed while it is written to; over the same folder everything that was acknowledged is there."""
    engine = mongodb_server.Engine(mongodb_server.short_folder())
    request.addfinalizer(engine.kill)
    acknowledged: list[str] = []
    problems: list[DatabaseProblem] = []
    with closing(Mongodb(uri=engine.uri, database=database, timeout=2.0)) as records:

        def write() -> None:
            for number in range(100_000):
                try:
                    records.put({"kind": "skill", "path": f"/{number}", "name": "x" * 2000}, None)
                except DatabaseProblem as problem:
                    problems.append(problem)
                    return
                acknowledged.append(f"/{number}")

        writer = Thread(target=write)
        writer.start()
        end = time.monotonic() + 60
        while len(acknowledged) < 50 and time.monotonic() < end:
            time.sleep(0.005)
        engine.kill()
        writer.join(60)
        assert len(problems) == 1
        assert str(problems[0]).startswith("mongodb://")
        with pytest.raises(DatabaseDown):
            records.get("/1")
        engine.start()
        found = records.versions()
        assert len(acknowledged) >= 50
        assert set(acknowledged) <= found.keys()


class TestConnection:
    def test_an_outage_is_named_soon_and_without_secrets(self) -> None:
        with closing(Mongodb(uri=DEAD, timeout=0.2)) as records:
            assert "s3cret" not in repr(records)
            start = time.monotonic()
            with pytest.raises(DatabaseDown) as problem:
                records.versions()
            assert time.monotonic() - start < 10
        said = f"{problem.value} {problem.value.hint}"
        assert "127.0.0.1:1" in said
        assert not [secret for secret in ("s3cret", "ann", "private-app") if secret in said]
        assert problem.value.__cause__ is None
        assert problem.value.__suppress_context__

    @pytest.mark.parametrize("uri", ["", "postgres://h/db", "localhost:27017"])
    def test_another_address_is_refused(self, uri: str) -> None:
        with closing(Mongodb(uri=uri, uri_env="REGISTRY_URI")) as records:
            for call in (records.versions, lambda: records.put(SERVER, None), lambda: records.wait(0.01, Event())):
                with pytest.raises(DatabaseProblem, match="connection string") as problem:
                    call()
            assert "REGISTRY_URI" in problem.value.hint
            assert records.place == "MongoDB"

    @pytest.mark.parametrize("tail", ["?tls=maybe-s3cret-w0rd", "?authMechanism=s3cret-w0rd", "db.s3cret-w0rd$"])
    def test_a_broken_one_is_named_without_secrets(self, tail: str) -> None:
        records = Mongodb(uri=f"mongodb://ann:s3cret-w0rd@h:1/{tail}", timeout=0.2)
        with closing(records), pytest.raises(DatabaseProblem) as problem:
            records.get("/a")
        assert "s3cret-w0rd@" not in str(problem.value)
        assert "ann:" not in str(problem.value)

    def test_strings_of_documentdb_and_atlas_are_taken(self, tmp_path: Path) -> None:
        """DocumentDB's string names a file with Amazon's certificates; nothing is connected here."""
        import certifi

        options = f"tls=true&tlsCAFile={certifi.where()}&replicaSet=rs0&readPreference=secondaryPreferred"
        uri = f"mongodb://ann:word@docdb.example.amazonaws.com:27017/?{options}&retryWrites=false"
        with closing(Mongodb(uri=uri)) as records:
            database = records._connection.database
            client = database.client
            assert client.options._options["tls"] is True
            assert client.options.replica_set_name == "rs0"
            assert client.options.retry_writes is False
            assert database.name == "mcp_registry"
            assert database.read_preference.mode == 0, "versions are read where they are written"
            assert database.write_concern.document == {"w": "majority", "j": True}
        with closing(Mongodb(uri="mongodb://h")) as alone:
            assert alone._connection.database.write_concern.document == {"j": True}
        with closing(Mongodb(uri="mongodb://h/?w=2")) as named:
            assert named._connection.database.write_concern.document == {"w": 2, "j": True}
        with closing(Mongodb(uri="mongodb+srv://ann:word@cluster0.example.mongodb.net/registry")) as atlas:
            assert atlas.place == "mongodb+srv://***@cluster0.example.mongodb.net/registry"

    def test_a_search_of_another_name_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="vector_search"):
            Mongodb(uri="mongodb://h", vector_search="hnsw")


@pytest.mark.server
def test_a_wait_ends_with_the_pause_where_there_are_no_change_streams(records: Mongodb) -> None:
    records.put(SERVER, None)
    start = time.monotonic()
    records.wait(0.2, Event())
    assert time.monotonic() - start >= 0.15
    stop = Event()
    stop.set()
    records.wait(60, stop)
    assert time.monotonic() - start < 30


def test_records_are_json_in_their_field() -> None:
    """What gateways do not know, such as examples of a tool, is kept in one field as text."""
    from watersmeet.store.mongodb._gateway_shape import document_of

    document = document_of({**SERVER, "extra": {"a.b": 1, "$c": 2, "url": "u"}}, 1_000_000)
    assert json.loads(document["watersmeet"]["record"])["tools"] == SERVER["tools"]
    assert document["url"] == "u"
    assert not {"a.b", "$c"} & document.keys()
