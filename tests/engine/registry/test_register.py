"""Registering, changing and forgetting entities: at once, all of one or nothing, and no more work than needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool, entity_of, record
from watersmeet.core.errors import ConfigError, NotFound, SourceProblem
from watersmeet.core.index import WAITING_RECORDS
from watersmeet.core.model import Condition, Request
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.catalogue import Catalogue

CONTEXT7 = Entity(
    "mcp_server",
    "/context7",
    "Context7",
    "Documentation for code",
    ("docs",),
    (
        Tool("query-docs", "Ask about a library", {"properties": {"libraryName": {"description": "which one"}}}),
        Tool("resolve", "Find a library", examples=("which package is called tern?",)),
    ),
    metadata={"region": "us-east-1"},
)
PDF = Entity("skill", "/skills/pdf", "pdf", "Fill forms", body="# How\n\nUse qpdf.", examples=("sign this contract",))


@pytest.fixture
def static(tmp_path: Path) -> Iterator[Engine]:
    """With the quick vectors that are shipped, and no others."""
    with Engine(tmp_path / "static", load(start=str(tmp_path), environ={"WATERSMEET__INDEX__SPARSE": ""})) as made:
        yield made


def found(engine: Engine, query: str, **more: Any) -> list[str]:
    return [result.document for result in engine.search(Request(query, **more)).results]


def rows(engine: Engine) -> dict[str, int]:
    with engine.snapshot() as snapshot:
        documents = [record.document for record in snapshot.records()]
        return {d: snapshot.rows([p.id])[p.id] for d in documents for p in snapshot.passages_of(d)[:1]}


# ------------------------------------------------------------ what is there afterwards


def test_a_path_that_looks_like_one_beside_the_index(tmp_path: Path) -> None:
    """`@/` stands for the folder of the index in paths of files only."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "x").write_text("nothing that is indexed")
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(tmp_path / ".watersmeet", settings) as engine:
        engine.registry.put(Entity("skill", "@/tools/x", "At", "Zebra crossing", body="# How\n\nLook."))
        (result,) = engine.search("zebra").results[:1]
        assert result.path == "@/tools/x"
        with engine.snapshot() as snapshot:
            assert [record.path for record in snapshot.records()] == ["@/tools/x"]
        with pytest.raises(NotFound):
            engine.get(str(tmp_path / "tools" / "x"))


def test_one_of_each_kind_is_counted(engine: Engine) -> None:
    agent = Entity("a2a_agent", "/planner", "Planner")
    virtual = Entity("virtual_server", "/virtual/x", "X", tools=(Tool("alias"),))
    report = engine.registry.put(CONTEXT7, PDF, agent, virtual)
    assert (report.registered, report.tools, report.skipped) == (4, 2, [])
    kinds = {"a2a_agent": 1, "mcp_server": 1, "skill": 1, "tool": 2, "virtual_server": 1}
    assert engine.status()["kinds"] == kinds


def test_an_entity_and_its_tools_are_found_by_what_they_say(engine: Engine) -> None:
    engine.registry.put(CONTEXT7, PDF)
    assert "/context7" in found(engine, "documentation")
    assert found(engine, "libraryName")[0] == "/context7#query-docs"
    assert found(engine, "tern")[0] == "/context7#resolve"
    assert found(engine, "qpdf") == ["/skills/pdf"]
    assert found(engine, "contract") == ["/skills/pdf"]
    assert "/context7" in found(engine, "us-east-1")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["kind", "tag", "region", "status", "server", "collection"])
def test_filters(engine: Engine, key: str) -> None:
    engine.registry.put(CONTEXT7, PDF)
    values = {"kind": "tool", "tag": "docs", "region": "us-east-1", "status": "active", "server": "/context7"}
    condition = Condition({key: (values.get(key, "registry"),)})
    hits = found(engine, "library form code", condition=condition)
    tools = {"/context7#query-docs", "/context7#resolve"}
    expected = {"kind": tools, "server": tools, "tag": tools | {"/context7"}, "region": tools | {"/context7"}}
    assert set(hits) == expected.get(key, tools | {"/context7", "/skills/pdf"})


def test_the_record_comes_back_whole(engine: Engine) -> None:
    engine.registry.put(CONTEXT7)
    assert entity_of(engine.registry.get("/context7")) == CONTEXT7
    tool = engine.registry.get("/context7#query-docs")
    assert (tool["server"], tool["inputSchema"]) == ("/context7", CONTEXT7.tools[0].schema)


def test_a_document_of_a_folder_is_not_registered(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    with pytest.raises(NotFound, match="not registered"):
        engine.registry.get("index.md")


# ------------------------------------------------------------ again


def test_unchanged_records_are_left_alone(engine: Engine) -> None:
    engine.registry.put(CONTEXT7, PDF)
    before = rows(engine)
    report = engine.registry.put(CONTEXT7, PDF)
    assert (report.registered, report.unchanged) == (0, 2)
    assert rows(engine) == before


@pytest.mark.slow
def test_a_new_record_replaces_the_old_one_and_its_tools(engine: Engine) -> None:
    engine.registry.put(CONTEXT7)
    before = rows(engine)
    fewer = replace(CONTEXT7, tools=(CONTEXT7.tools[0], Tool("new", "Something else")))
    assert engine.registry.put(fewer).registered == 1
    assert set(rows(engine)) == {"/context7", "/context7#query-docs", "/context7#new"}
    assert rows(engine)["/context7#query-docs"] == before["/context7#query-docs"]
    assert found(engine, "something")[0] == "/context7#new"


def test_the_same_path_twice_and_the_same_content_elsewhere_are_reported(engine: Engine) -> None:
    twin = replace(PDF, path="/skills/copy", owner="ada")
    report = engine.registry.put(PDF, replace(PDF, description="Other"), twin)
    assert (report.registered, report.duplicates) == (2, 2)
    assert [twin.same_as for twin in report.twins] == ["/skills/pdf", "/skills/pdf"]
    assert engine.registry.get("/skills/pdf")["description"] == "Fill forms"
    report = engine.registry.put(replace(PDF, path="/skills/third"))
    assert (report.registered, report.twins[0].reason) == (1, "/skills/third has the same content as /skills/copy")


def test_ids_that_are_taken_are_refused(engine: Engine, write: Any) -> None:
    engine.sync([write({"a.md": "# A\n\ntext", "c.jsonl": '{"_id": "/srv#t", "text": "a record"}\n'})])
    engine.registry.put(CONTEXT7)
    server = Entity("mcp_server", "/srv", "S", tools=(Tool("t"),))
    inside = Entity("skill", "/context7#resolve", "x")
    report = engine.registry.put(Entity("skill", "a.md", "A"), server, inside)
    assert (report.registered, [item.record for item in report.skipped]) == (0, ["a.md", "/srv", "/context7#resolve"])
    assert engine.get("a.md")["text"].strip().endswith("text")


# ------------------------------------------------------------ changes


@pytest.mark.model
def test_a_change_is_searchable_at_once_and_embeds_nothing(static: Engine) -> None:
    assert static.registry.put(CONTEXT7, PDF, deepen=False).embedded == 7
    before = rows(static)
    for change in (
        lambda: static.registry.set_status("/context7", "deprecated"),
        lambda: static.registry.disable("/skills/pdf"),
    ):
        assert change() == 1
    assert found(static, "documentation form library qpdf") == []
    assert static.registry.set_status("/context7", "Beta") == 1
    assert static.registry.set_status("/context7", "beta") == 0
    assert static.registry.enable("/skills/pdf") == 1
    assert set(found(static, "documentation form library qpdf", mode="static")) == set(before)
    assert rows(static) == before
    assert static.deepen(deep=False).embedded == 0


def test_what_is_said_at_length_of_a_server_is_not_said_again_of_each_tool(engine: Engine) -> None:
    metadata = {"manual": "page " * 10_000, "team": "blue"}
    tools = tuple(Tool(f"tool_{number}") for number in range(20))
    engine.registry.put(Entity("mcp_server", "/huge", "Huge", "word " * 10_000, tools=tools, metadata=metadata))
    tool = engine.get("/huge#tool_7")
    assert len(str(tool)) < 3_000
    assert "Huge: word word" in tool["text"]
    assert tool["fields"]["team"] == "blue"
    assert engine.get("/huge")["fields"]["manual"] == metadata["manual"]


def test_tools_share_the_standing_of_their_server(engine: Engine) -> None:
    engine.registry.put(CONTEXT7)
    engine.registry.disable("/context7")
    assert found(engine, "library") == []
    assert engine.registry.get("/context7")["enabled"] is False


def test_an_unknown_status_and_an_unknown_path(engine: Engine) -> None:
    engine.registry.put(CONTEXT7, Entity("virtual_server", "/virtual/x", "X"))
    with pytest.raises(ConfigError) as error:
        engine.registry.set_status("/context7", "activ")
    assert "'active'" in error.value.hint
    with pytest.raises(NotFound) as missing:
        engine.registry.set_status("/context8", "beta")
    assert "'/context7'" in missing.value.hint
    with pytest.raises(ConfigError, match="always active"):
        engine.registry.set_status("/virtual/x", "draft")
    with pytest.raises(NotFound):
        engine.registry.enable("/context7#resolve")


def test_unregister_takes_the_tools_along_and_is_all_or_nothing(engine: Engine) -> None:
    engine.registry.put(CONTEXT7, PDF)
    with pytest.raises(NotFound):
        engine.registry.unregister(["/context7", "/nothing"])
    assert len(engine.documents()) == 4
    assert engine.registry.unregister(["/context7", "/context7"]) == 1
    assert [d["document"] for d in engine.documents()] == ["/skills/pdf"]


def test_remove_works_on_entities_too(engine: Engine) -> None:
    engine.registry.put(CONTEXT7, PDF)
    with pytest.raises(ConfigError, match="tool of a registered server"):
        engine.remove(["/context7#resolve"])
    assert engine.remove(["/context7"]) == 1
    assert [d["document"] for d in engine.documents()] == ["/skills/pdf"]


# ------------------------------------------------------------ beside folders


def test_syncing_folders_leaves_what_is_registered(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.registry.put(CONTEXT7, PDF)
    before = rows(engine)
    engine.sync([vault])
    (vault / "index.md").unlink()
    engine.sync([vault])
    (tmp_path / "second").mkdir()
    (tmp_path / "second/b.md").write_text("# B\n")
    engine.sync([tmp_path / "second"])
    assert {d: row for d, row in rows(engine).items() if d in before} == before


def test_an_index_that_begins_anew_keeps_what_is_registered(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    engine.registry.put(CONTEXT7, PDF)
    engine.registry.disable("/skills/pdf")
    engine.sync([vault], recreate=True)
    assert engine.status()["kinds"] == {"document": 4, "mcp_server": 1, "skill": 1, "tool": 2}
    assert engine.registry.get("/skills/pdf")["enabled"] is False
    assert found(engine, "tern")[0] == "/context7#resolve"
    assert engine.registry.put(CONTEXT7).unchanged == 1


def test_a_new_beginning_that_is_cut_short(engine: Engine, vault: Path) -> None:
    """Killed after the catalogue was cleared and before all was registered again: the next writer goes on."""
    engine.registry.put(CONTEXT7)
    catalogue = Catalogue(engine.folder)
    catalogue.set_meta({WAITING_RECORDS: json.dumps([record(PDF)])})
    catalogue.close()
    engine.sync([vault], recreate=True)
    assert engine.status()["kinds"] == {"document": 4, "mcp_server": 1, "skill": 1, "tool": 2}
    engine.registry.unregister("/skills/pdf")
    assert "skill" not in engine.status()["kinds"]


class Stopped(RuntimeError):
    """Stands in for a kill between two commits."""


@pytest.mark.slow
def test_a_registration_that_is_cut_short_holds_whole_entities(tmp_path: Path) -> None:
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__WRITER__BATCH_CHUNKS": "10"}
    records = [
        {"path": f"/s{n}", "server_name": f"S{n}", "tools": [{"name": f"t{m}"} for m in range(3)]} for n in range(20)
    ]
    told: list[int] = []

    def tell(step: Any) -> None:
        told.append(step.done)
        if step.done:
            raise Stopped

    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        with pytest.raises(Stopped):
            engine.registry.register(records, progress=tell)
        kinds = engine.status()["kinds"]
        assert kinds == {"mcp_server": told[-1], "tool": 3 * told[-1]}
        assert 0 < told[-1] < 20
        report = engine.registry.register(records)
        assert (report.unchanged, report.registered) == (told[-1], 20 - told[-1])


# ------------------------------------------------------------ places


def test_a_folder_of_skills(engine: Engine, write: Any) -> None:
    place = write(
        {
            "pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\nversion: 1\ntags: [office]\n"
            "metadata: {author: Ada}\n---\n# PDF\n\nUse qpdf.\n",
            "pdf/package.json": '{"name": "not-a-record"}',
            "deep/er/SKILL.md": "---\ndescription: Deeper\n---\nBody",
            "bad/SKILL.md": "no front matter",
            "worse/SKILL.md": "---\nname: worse\n---\n",
            "node_modules/x/SKILL.md": "---\ndescription: never\n---\n",
        }
    )
    report = engine.registry.register(place)
    assert (report.registered, len(report.skipped)) == (2, 2)
    pdf = engine.registry.get("/skills/pdf")
    assert (pdf["name"], pdf["tags"], pdf["metadata"]) == ("pdf", ["office"], {"version": "1", "author": "Ada"})
    assert pdf["body"] == "# PDF\n\nUse qpdf."
    assert pdf["extra"]["location"] == str(place / "pdf/SKILL.md")
    assert engine.registry.get("/skills/er")["name"] == "er"
    assert engine.registry.register(place / "pdf").unchanged == 1
    assert engine.registry.register(place / "pdf/SKILL.md").unchanged == 1


def test_a_folder_with_a_corpus(engine: Engine, write: Any) -> None:
    place = write(
        {
            "set/corpus.jsonl": '{"_id": "a", "title": "A", "text": "x"}\nnot json\n{"_id": "b", "text": "y"}\n',
            "set/queries.jsonl": '{"_id": "q", "text": "never a server"}\n',
            "set/META.json": "{}",
            "list.yaml": "registry:\n  c: {description: container}\n",
        }
    )
    report = engine.registry.register(place)
    assert (report.registered, [item.record for item in report.skipped]) == (3, [f"{place}/set/corpus.jsonl:2"])
    assert {d["document"] for d in engine.documents()} == {"a", "b", "/c"}


def test_tools_of_a_server_that_is_registered(engine: Engine) -> None:
    engine.registry.put(CONTEXT7)
    listed = {"tools": [{"name": "only", "description": "one"}]}
    engine.registry.register([listed], server="/context7")
    now = engine.registry.get("/context7")
    assert ([tool["name"] for tool in now["tools"]], now["description"]) == (["only"], "Documentation for code")
    report = engine.registry.register(json.dumps(listed).encode())
    assert (report.registered, "--server" in report.skipped[0].reason) == (0, True)


def test_a_place_that_is_not_there(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SourceProblem):
        engine.registry.register(tmp_path / "nothing")


def test_an_entity_cannot_open_itself_through_its_metadata(engine: Engine) -> None:
    metadata = {"@audience": "public", "@lifecycle": "active", "enabled": "true", "status": "active"}
    engine.registry.put(replace(PDF, metadata=metadata, status="draft", enabled=False))
    assert found(engine, "qpdf") == []
