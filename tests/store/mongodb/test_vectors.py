"""Vectors of entities in MongoDB: the documented shape, cosines, and the commands for DocumentDB."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from watersmeet.core.entities import Ability, Entity, Tool
from watersmeet.core.errors import DatabaseDown
from watersmeet.core.registry_records import EmbeddedEntity
from watersmeet.store.mongodb import vectors as module
from watersmeet.store.mongodb._embedding_shape import document_of, vector_index, vector_search
from watersmeet.store.mongodb.records import Mongodb
from watersmeet.store.mongodb.vectors import COSINE, DOCUMENTDB, EntityVectors

SCHEMA = {"type": "object", "properties": {"secret_parameter": {"type": "string"}}}
TIDES = Entity(
    "mcp_server",
    "/hidden-path",
    "Tides",
    "When the sea comes",
    tags=("sea", "time"),
    tools=(Tool("next", "The next tide", SCHEMA),),
    metadata={"source": "agentcore-sync", "region": "us-east-1"},
)
AGENT = Entity(
    "a2a_agent",
    "/agents/travel",
    "Travel",
    "Plans journeys",
    capabilities=("streaming",),
    skills=(Ability("book", "Books flights", id="hidden-id"),),
)
SKILL = Entity("skill", "/skills/pdf", "PDF", "Fill forms", metadata={"author": "ann", "registry_name": "main"})
VIRTUAL = Entity(
    "virtual_server",
    "/virtual/dev",
    "Dev",
    tools=(Tool("tides", "Override"),),
    metadata={"server_name": "Dev", "num_tools": 1, "backend_paths": ["/x"], "created_by": "ann"},
)
ALL = (TIDES, AGENT, SKILL, VIRTUAL)


def vector(*values: float) -> Any:
    found = np.asarray(values, np.float32)
    return found / np.linalg.norm(found)


def entry(entity: Entity, *values: float, digest: str = "1") -> EmbeddedEntity:
    return EmbeddedEntity(entity, vector(*values) if values else None, "granite", digest)


class TestShape:
    def test_a_server(self) -> None:
        found = document_of(entry(TIDES, 3, 4))
        assert found["text_for_embedding"] == (
            "Tides When the sea comes Tags: sea, time source agentcore-sync region us-east-1 next The next tide"
        )
        assert found["metadata_text"] == "source agentcore-sync region us-east-1"
        assert found["tools"] == [{"name": "next", "description": "The next tide", "inputSchema": SCHEMA}]
        assert found["embedding"] == pytest.approx([0.6, 0.8])
        assert found["metadata"]["metadata"] == {"source": "agentcore-sync", "region": "us-east-1"}
        wanted = ("_id", "path", "entity_type", "name", "is_enabled", "status")
        assert [found[key] for key in wanted] == ["/hidden-path", "/hidden-path", "mcp_server", "Tides", True, "active"]

    def test_the_others(self) -> None:
        agent, skill, virtual = (document_of(entry(one)) for one in (AGENT, SKILL, VIRTUAL))
        assert agent["text_for_embedding"] == "Travel Plans journeys Capabilities: streaming book Books flights"
        assert agent["capabilities"] == ["streaming"]
        assert (skill["metadata_text"], skill["text_for_embedding"]) == ("ann main", "PDF Fill forms ann")
        assert virtual["metadata_text"] == "ann"
        assert virtual["tools"] == [{"name": "tides", "description": "Override"}]
        assert virtual["metadata"] == dict(VIRTUAL.metadata)
        assert [one["embedding"] for one in (agent, skill, virtual)] == [[], [], []]


class TestDocumentDB:
    """Golden: no such server was at hand, so only the commands themselves are checked."""

    def test_the_index(self) -> None:
        assert vector_index("mcp_embeddings_384", 384, {"m": 16, "efConstruction": 128}) == {
            "createIndexes": "mcp_embeddings_384",
            "indexes": [
                {
                    "key": {"embedding": "vector"},
                    "name": "embedding_vector_idx",
                    "vectorOptions": {
                        "type": "hnsw",
                        "dimensions": 384,
                        "similarity": "cosine",
                        "m": 16,
                        "efConstruction": 128,
                    },
                }
            ],
        }

    def test_the_pipeline_of_a_kind(self) -> None:
        assert vector_search(np.asarray([0.5, -0.25], np.float32), "a2a_agent", 50, 100) == [
            {
                "$search": {
                    "vectorSearch": {
                        "vector": [0.5, -0.25],
                        "path": "embedding",
                        "similarity": "cosine",
                        "k": 50,
                        "efSearch": 100,
                    }
                }
            },
            {"$match": {"entity_type": "a2a_agent"}},
            {"$project": {"embedding": 1}},
        ]


@pytest.fixture
def records(mongodb: str, database: str) -> Iterator[Mongodb]:
    with closing(Mongodb(uri=mongodb, database=database, vector_search=COSINE, poll_seconds=0.05)) as made:
        yield made


def filled(records: Mongodb, dimension: int = 2) -> EntityVectors:
    found = records.vectors(dimension)
    found.put([entry(TIDES, 1, 0), entry(AGENT, 0, 1), entry(SKILL), entry(VIRTUAL, 1, 1)])
    return found


@pytest.mark.server
class TestCollection:
    def test_four_kinds_in_one_collection_whose_name_has_the_dimension(self, records: Mongodb) -> None:
        found = filled(records).statistics()
        assert found == {
            "collection": "mcp_embeddings_2",
            "dimension": 2,
            "entity_types": {"a2a_agent": 1, "mcp_server": 1, "skill": 1, "virtual_server": 1},
            "documents": 4,
            "without_embedding": 1,
            "indexes": ["_id_", "path_idx"],
        }

    def test_only_what_was_written_here_is_deleted(self, records: Mongodb) -> None:
        vectors = filled(records)
        records._connection.collection("mcp_embeddings_2").insert_one({"_id": "/theirs", "path": "/theirs"})
        assert vectors.digests() == {**dict.fromkeys((one.path for one in ALL), "1"), "/theirs": ""}
        vectors.delete(["/theirs", TIDES.path])
        assert sorted(vectors.digests()) == ["/agents/travel", "/skills/pdf", "/theirs", "/virtual/dev"]

    def test_cosines_of_a_kind_and_of_what_has_changed(self, records: Mongodb) -> None:
        vectors = filled(records)
        second = Entity("mcp_server", "/second", "Second")
        third = Entity("mcp_server", "/third", "Third")
        vectors.put([entry(second, 1, 1), entry(third)])
        found = vectors.nearest(vector(1, 0), "mcp_server", 1)
        assert list(found) == ["/hidden-path", "/second"]
        assert found["/second"] == pytest.approx(2**-0.5, abs=1e-6)
        assert vectors.nearest(vector(1, 0), "skill", 5) == {}
        other = Mongodb(uri=records.uri, database=records.database, vector_search=COSINE)
        with closing(other):
            other.vectors(2).put([entry(third, 1, 0, digest="2"), entry(TIDES, 0, 1, digest="2")])
            other.vectors(2).delete(["/second"])
        end = time.monotonic() + 30
        while list(found := vectors.nearest(vector(1, 0), "mcp_server", 1)) != ["/third", "/hidden-path"]:
            assert time.monotonic() < end, found
            time.sleep(0.02)
        assert vectors.fallback() == ""

    def test_a_refusal_falls_back_to_exact_cosines_and_says_so(self, mongodb: str, database: str) -> None:
        """MongoDB refuses DocumentDB's stage and index, as any server that does not have them."""
        with closing(Mongodb(uri=mongodb, database=database, vector_search=DOCUMENTDB)) as records:
            vectors = filled(records)
            assert "no HNSW index" in vectors.fallback()
            vectors._refused_until = 0.0
            assert list(vectors.nearest(vector(1, 0), "mcp_server", 5)) == ["/hidden-path"]
            assert "refuses $search.vectorSearch (code 31082)" in vectors.fallback()
            assert "exactly" in vectors.fallback()


def test_a_dead_server_is_asked_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.1)
    with closing(Mongodb(uri="mongodb://127.0.0.1:1", timeout=0.2, vector_search=COSINE)) as records:
        vectors = records.vectors(2)
        for _ in range(2):
            with pytest.raises(DatabaseDown):
                vectors.nearest(vector(1, 0), "skill", 5)
        monkeypatch.setattr(vectors, "_refresh", lambda: pytest.fail("it was asked again"))
        with pytest.raises(DatabaseDown):
            vectors.nearest(vector(1, 0), "skill", 5)
        assert "the vectors of the index are used" in vectors.fallback()
