"""What is read, read again, and read in pieces: what was set here stays, and nothing is lost or taken for another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.entities import embedding_text, entity_of
from watersmeet.core.errors import NotRegistered
from watersmeet.core.text_fields import breadcrumb
from watersmeet.engine.registry.register import version

META = "io.modelcontextprotocol.registry/official"
SERVER = {"path": "/clock", "server_name": "Clock", "description": "Tells the time", "tools": [{"name": "now"}]}


def state(engine: Engine, path: str = "/clock") -> tuple[str, bool]:
    found = engine.registry.get(path)
    return found["status"], found["enabled"]


def tools(engine: Engine, path: str) -> list[str]:
    return sorted(tool["name"] for tool in engine.registry.get(path)["tools"])


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = {"items": value}
    return value


# ------------------------------------------------------------ what was set here stays


def test_reading_the_same_record_again_undoes_nothing(engine: Engine) -> None:
    engine.registry.register([SERVER])
    engine.registry.disable("/clock")
    engine.registry.set_status("/clock", "deprecated")
    report = engine.registry.register([SERVER])
    assert (report.registered, report.unchanged, state(engine)) == (0, 1, ("deprecated", False))


@pytest.mark.slow
def test_a_changed_record_keeps_what_was_set_unless_it_changed_that(engine: Engine) -> None:
    engine.registry.register([SERVER])
    engine.registry.disable("/clock")
    engine.registry.set_status("/clock", "beta")
    report = engine.registry.register([{**SERVER, "description": "Says how late it is"}])
    assert (report.registered, state(engine)) == (1, ("beta", False))
    assert engine.registry.get("/clock")["description"] == "Says how late it is"
    engine.registry.register([{**SERVER, "status": "deprecated"}])
    assert state(engine) == ("deprecated", False)
    engine.registry.register([{**SERVER, "status": "deprecated", "is_enabled": False}])
    engine.registry.register([{**SERVER, "status": "deprecated", "is_enabled": True}])
    assert state(engine) == ("deprecated", True)


def test_what_was_set_and_taken_back_is_as_it_was(engine: Engine) -> None:
    engine.registry.register([SERVER])
    engine.registry.disable("/clock")
    engine.registry.enable("/clock")
    assert engine.registry.register([SERVER]).unchanged == 1
    engine.registry.register([{**SERVER, "is_enabled": False}])
    assert state(engine) == ("active", False)


def test_putting_an_entity_is_the_last_word(engine: Engine) -> None:
    engine.registry.register([SERVER])
    engine.registry.disable("/clock")
    shown = entity_of(engine.registry.get("/clock") | {"enabled": True})
    assert engine.registry.put(shown).registered == 1
    assert state(engine) == ("active", True)
    assert engine.registry.put(shown).unchanged == 1


def test_tools_read_for_a_server_do_not_undo_what_was_set(engine: Engine) -> None:
    engine.registry.register([SERVER])
    engine.registry.disable("/clock")
    engine.registry.register([{"tools": [{"name": "later"}]}], server="/clock")
    assert (state(engine), tools(engine, "/clock")) == (("active", False), ["later"])
    engine.registry.register([SERVER])
    assert (state(engine), tools(engine, "/clock")) == (("active", False), ["now"])


def test_what_was_set_outlives_an_index_that_begins_anew(engine: Engine, vault: Path) -> None:
    engine.registry.register([SERVER])
    engine.registry.disable("/clock")
    engine.sync([vault], recreate=True)
    assert (engine.registry.register([SERVER]).unchanged, state(engine)) == (1, ("active", False))


# ------------------------------------------------------------ duplicates


@pytest.mark.slow
def test_who_got_the_text_of_one_that_changed_is_no_duplicate(engine: Engine) -> None:
    a, b = {"path": "/a", "name": "X", "description": "one"}, {"path": "/b", "name": "X", "description": "two"}
    engine.registry.register([a, b])
    for records in ([{**a, "description": "three"}, {**b, "description": "one"}], [b, {**a, "description": "one"}]):
        assert engine.registry.register(records).twins == []
    three = [{**a, "description": "two"}, b]
    (twin,) = engine.registry.register(three).twins
    assert {twin.same_as, twin.reason} == {"/a", "/b has the same content as /a"}


# ------------------------------------------------------------ nested too deeply


@pytest.mark.slow
@pytest.mark.parametrize("levels", [100, 900])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda bad: {"path": "/bad", "server_name": "Bad", "tools": [{"name": "t", "inputSchema": bad}]},
        lambda bad: {"path": "/bad", "server_name": "Bad", "metadata": bad},
        lambda bad: {"name": "x/bad", "description": "d", "version": "1", "_meta": bad},
        lambda bad: {"registry": {"bad": {"description": "d", "config": bad}}},
        lambda bad: {"servers": [{"name": "x/bad", "description": "d", "version": "1", "packages": bad}]},
        lambda bad: {"_id": "bad", "title": "Bad", "text": "t", "metadata": bad},
        lambda bad: {"serverInfo": {"name": "bad"}, "tools": [{"name": "t", "inputSchema": bad}]},
    ],
)
def test_a_record_that_is_nested_too_deeply_is_named_and_skipped(engine: Engine, wrap: Any, levels: int) -> None:
    report = engine.registry.register([wrap(deep(levels)), SERVER])
    assert (report.registered, len(report.skipped)) == (1, 1)
    assert "deep" in report.skipped[0].reason


def test_lists_within_lists_are_skipped(engine: Engine) -> None:
    nested: Any = [SERVER]
    wrapped: Any = {"path": "/x", "name": "x"}
    for _ in range(900):
        nested, wrapped = [nested], {"servers": [wrapped]}
    report = engine.registry.register([nested, wrapped, SERVER])
    assert (report.registered, len(report.skipped)) == (1, 2)


# ------------------------------------------------------------ the official registry


def official(number: str, latest: bool | None = None, **more: Any) -> dict[str, Any]:
    meta = {} if latest is None else {"_meta": {META: {"isLatest": latest}}}
    return {"server": {"name": "io.x/y", "description": f"version {number}", "version": number, **more}, **meta}


def now(engine: Engine) -> str:
    return str(engine.registry.get("/io.x/y")["description"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pages", "kept"),
    [
        ([[official("1.0.0", False)], [official("1.1.0", True)]], "version 1.1.0"),
        ([[official("1.1.0", True)], [official("1.0.0", False)]], "version 1.1.0"),
        ([[official("1.10.0")], [official("1.9.0")]], "version 1.10.0"),
        ([[official("2.0.0-rc.1")], [official("2.0.0")], [official("2.0.0-rc.2")]], "version 2.0.0"),
        ([[official("1.0.0", False), official("1.2.0", True), official("1.1.0", False)]], "version 1.2.0"),
        ([[official("2.0.0", True)], [official("2.1.0", True)]], "version 2.1.0"),
        ([[official("a")], [official("b")]], "version b"),
    ],
)
def test_the_newest_version_is_kept(engine: Engine, pages: list[Any], kept: str) -> None:
    for page in pages:
        report = engine.registry.register([{"servers": page}])
        assert report.skipped == []
    assert now(engine) == kept


def test_the_newest_of_several_files(engine: Engine, write: Any) -> None:
    pages = {"1.json": official("1.0.0", False), "2.json": official("3.0.0", True), "3.json": official("2.0.0", False)}
    place = write({name: json.dumps({"servers": [page]}) for name, page in pages.items()})
    report = engine.registry.register(place)
    assert (report.registered, report.duplicates, now(engine)) == (1, 2, "version 3.0.0")
    assert engine.registry.register(place).unchanged == 1


def test_one_bad_entry_does_not_make_a_list_unknown(engine: Engine) -> None:
    report = engine.registry.register([{"servers": ["bad", {"server": {"title": "no name"}}, official("1.0.0")]}])
    assert (report.registered, len(report.skipped)) == (1, 2)


def test_the_least_that_a_server_json_says(engine: Engine) -> None:
    least = {"name": "io.x/y", "description": "version 1", "version": "1"}
    assert engine.registry.register([least]).registered == 1
    assert now(engine) == "version 1"


def test_versions_have_an_order() -> None:
    order = ["0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "1.2", "1.10", "v2"]
    keys = [version(each) for each in order]
    assert all(key is not None for key in keys)
    assert sorted(order, key=lambda each: version(each) or ((), True, ())) == order
    assert version("1.0") == version("v1.0.0+build")
    assert version("latest") is None


# ------------------------------------------------------------ lists of tools


def listed(*names: str, more: str = "") -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {}} for name in names]} | ({"nextCursor": more} if more else {})


def test_the_tools_beside_a_server_are_its_own(engine: Engine, write: Any) -> None:
    place = write(
        {
            "servers/alpha/server.yaml": "name: alpha\nabout: {title: Alpha, description: First}\n",
            "servers/alpha/tools.json": json.dumps([{"name": "a1", "arguments": [{"name": "x"}]}]),
            "servers/beta/server.yaml": "name: beta\nabout: {title: Beta, description: Second}\n",
            "servers/beta/tools.json": json.dumps([{"name": "b1", "arguments": []}, {"name": "b2", "arguments": []}]),
            "servers/gamma/tools.json": json.dumps(listed("c1")),
        }
    )
    report = engine.registry.register(place)
    assert (report.registered, report.tools, report.skipped, report.twins) == (3, 4, [], [])
    assert [tools(engine, path) for path in ("/alpha", "/beta", "/gamma")] == [["a1"], ["b1", "b2"], ["c1"]]
    assert engine.registry.get("/beta")["description"] == "Second"
    assert engine.registry.register(place).unchanged == 3
    assert engine.registry.register(place / "servers/gamma/tools.json").unchanged == 1


def test_a_list_does_not_replace_the_tools_of_somebody_else(engine: Engine, write: Any) -> None:
    engine.registry.register([SERVER])
    place = write({"clock.json": json.dumps(listed("evil"))})
    report = engine.registry.register(place / "clock.json")
    assert (report.registered, "--server /clock" in report.skipped[0].reason) == (0, True)
    assert tools(engine, "/clock") == ["now"]
    engine.registry.register(place / "clock.json", server="/clock")
    assert tools(engine, "/clock") == ["evil"]


def test_a_list_replaces_the_tools_that_it_brought(engine: Engine, write: Any) -> None:
    place = write({"mine.json": json.dumps(listed("one"))})
    assert engine.registry.register(place / "mine.json").registered == 1
    write({"mine.json": json.dumps(listed("two"))})
    assert engine.registry.register(place / "mine.json").registered == 1
    assert tools(engine, "/mine") == ["two"]


def test_the_pages_of_a_list_belong_together(engine: Engine, write: Any) -> None:
    pages = {9: listed("t9", more="x"), 10: {"result": listed("t10", more="y")}, 11: listed("t11")}
    files = {f"many/page-{n}.json": json.dumps(page) for n, page in pages.items()}
    place = write({**files, "many/other.json": json.dumps(listed("o"))})
    engine.registry.register(place)
    assert (tools(engine, "/many"), tools(engine, "/other")) == (["t10", "t11", "t9"], ["o"])


def test_several_lists_of_one_server(engine: Engine, write: Any) -> None:
    place = write({"1.json": json.dumps(listed("a", more="x")), "2.json": json.dumps(listed("b"))})
    engine.registry.register(place, server="/x")
    engine.registry.register([[listed("a", more="x"), listed("b")]], server="/y")
    assert (tools(engine, "/x"), tools(engine, "/y")) == (["a", "b"], ["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize("place", [json.dumps(listed("a")).encode(), [listed("a")], [{"name": "a", "inputSchema": {}}]])
def test_tools_of_nobody_are_refused(engine: Engine, place: Any) -> None:
    engine.registry.register([SERVER])
    report = engine.registry.register(place)
    assert (report.registered, "--server" in report.skipped[0].reason) == (0, True)
    assert engine.registry.register(place, server="/somebody").registered == 1


# ------------------------------------------------------------ skills


def test_the_path_of_a_skill_is_the_same_wherever_reading_began(engine: Engine, write: Any) -> None:
    place: Path = write({"a/skills/pdf/SKILL.md": "---\ndescription: Forms\n---\n"})
    for start in (place, place / "a", place / "a/skills", place / "a/skills/pdf", place / "a/skills/pdf/SKILL.md"):
        engine.registry.register(start)
        assert [document["document"] for document in engine.documents()] == ["/skills/pdf"], start


def test_two_skills_of_one_name_are_told_apart_by_what_is_above_them(engine: Engine, write: Any) -> None:
    names = ("a/pdf", "b/pdf", "c/x/tex", "d/x/tex", "xls")
    engine.registry.register(write({f"{name}/SKILL.md": f"---\ndescription: {name}\n---\n" for name in names}))
    documents = {document["document"] for document in engine.documents()}
    assert documents == {f"/skills/{name}" for name in names}


# ------------------------------------------------------------ what is indexed


def test_a_model_reads_what_the_composition_says(engine: Engine) -> None:
    engine.registry.register([{**SERVER, "tags": ["time"], "metadata": {"region": "eu"}}])
    entity = entity_of(engine.registry.get("/clock"))
    with engine.snapshot() as snapshot:
        (passage,) = snapshot.passages_of("/clock")
    assert f"{breadcrumb(passage.title, passage.headings)}\n{passage.text}" == embedding_text(entity)


def test_what_is_not_there_cannot_be_changed(engine: Engine) -> None:
    engine.registry.register([SERVER])
    for change in (engine.registry.unregister, engine.registry.enable, engine.registry.disable):
        with pytest.raises(NotRegistered) as error:
            change("/clok")
        assert (error.value.exit_code, error.value.hint) == (2, "did you mean '/clock'?")
