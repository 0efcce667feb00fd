"""The tools for a task, and the lists that ask no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.errors import ConfigError
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.settings.settings import load

SCHEMA = {"type": "object", "properties": {"url": {"type": "string", "description": "the page"}}}
ENTITIES = [
    Entity(
        "mcp_server",
        "/browser",
        "Browser",
        "Opens web pages",
        tags=("Web",),
        tools=(Tool("page_to_pdf", "Turn a web page into a PDF", SCHEMA), Tool("screenshot", "Take a picture", {})),
        metadata={"region": "eu-west"},
    ),
    Entity("mcp_server", "/mail", "Mail", "Letters", tools=(Tool("send", "Send a letter to somebody"),)),
    Entity(
        "mcp_server", "/hidden", "Hidden", visibility="private", owner="ann", tools=(Tool("web_pdf", "Web page PDF"),)
    ),
    Entity("mcp_server", "/old", "Old", "Gone", status="deprecated", tools=(Tool("pdf", "Web page to PDF"),)),
    Entity("skill", "/s1", "forms", "Fill in forms", metadata={"author": "marguerite"}),
    Entity("skill", "/s2", "forms", "Fill in forms", metadata={"author": "forms"}),
    Entity("a2a_agent", "/a", "Clerk", "Fills in", metadata={"team": "Back Office"}, tags=("office",)),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        settings = load(start=str(folder), environ={"WATERSMEET__INDEX__DENSE": "hashed"})
        with Engine(folder / "index", settings) as made:
            made.registry.put(*ENTITIES)
            yield made


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["", "registry"])
@pytest.mark.parametrize("mode", ["", "lexical", "static", "dense"])
def test_the_tool_to_call_with_what_it_takes(engine: Engine, recipe: str, mode: str) -> None:
    answer = engine.registry.find_tools("make a PDF of a web page", recipe=recipe, mode=mode, viewer=EVERYONE).to_json()
    assert answer["task"] == "make a PDF of a web page"
    assert answer["failures"] == []
    first = answer["tools"][0]
    named = ["tool_name", "server_path", "server_name", "description", "inputSchema", "endpoint_url", "score", "why"]
    assert list(first) == [*named, "review"]
    assert (first["tool_name"], first["server_path"], first["server_name"]) == ("page_to_pdf", "/browser", "Browser")
    assert first["inputSchema"] == SCHEMA
    assert first["score"] == 1.0
    assert "name has page, pdf" in first["why"] or "name has pdf, page" in first["why"]
    assert {tool["server_path"] for tool in answer["tools"]} <= {"/browser", "/mail"}


def test_an_intent_tells_two_tools_apart(engine: Engine) -> None:
    def first(intent: str) -> str:
        name: str = engine.registry.find_tools("take it", intent=intent).to_json()["tools"][0]["tool_name"]
        return name

    assert first("a picture") == "screenshot"
    assert first("letter to somebody") == "send"


def test_what_is_pinned_is_always_there(engine: Engine) -> None:
    def names(*pinned: str, top_n: int = 2, viewer: Viewer | None = None) -> list[str]:
        found = engine.registry.find_tools("web page PDF", top_n=top_n, pinned=pinned, viewer=viewer).to_json()
        return [tool["tool_name"] for tool in found["tools"]]

    plain = names(viewer=EVERYONE)
    assert "send" not in plain
    assert names("send", viewer=EVERYONE) == [plain[0], "send"]
    assert names("/mail#send", viewer=EVERYONE) == [plain[0], "send"]
    assert names("send", "screenshot", top_n=1, viewer=EVERYONE) == ["screenshot", "send"]
    assert names(plain[0], viewer=EVERYONE) == plain


def test_a_pin_is_no_way_around_visibility(engine: Engine) -> None:
    hidden = engine.registry.find_tools("anything", pinned=["web_pdf", "nowhere"], viewer=EVERYONE).to_json()
    assert "web_pdf" not in {tool["tool_name"] for tool in hidden["tools"]}
    reasons = [failure["reason"] for failure in hidden["failures"]]
    assert reasons == ["there is no tool 'web_pdf'", "there is no tool 'nowhere'"]
    seen = engine.registry.find_tools("anything", pinned=["web_pdf"], viewer=Viewer("ann")).to_json()
    assert "web_pdf" in {tool["tool_name"] for tool in seen["tools"]}


def test_pins_of_the_settings(tmp_path: Path) -> None:
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__REGISTRY__PINNED": '["send"]'}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.registry.put(*ENTITIES)
        (tool,) = engine.registry.find_tools("picture of a page", top_n=1).to_json()["tools"]
        assert tool["tool_name"] == "send"
        assert tool["why"] == "pinned"


def test_no_task_no_tools(engine: Engine) -> None:
    with pytest.raises(ConfigError):
        engine.registry.find_tools("  ").to_json()
    with pytest.raises(ConfigError):
        engine.registry.find_tools("x", top_n=0).to_json()


# ---------------------------------------------------------------- lists


@pytest.mark.parametrize(
    ("kind", "query", "expected"),
    [
        ("mcp_server", "", ["/browser", "/hidden", "/mail"]),
        ("mcp_server", "ROWS", ["/browser"]),  # a part of a word, in whatever case
        ("mcp_server", "eu-west", ["/browser"]),  # the metadata
        ("mcp_server", "somebody", ["/mail"]),  # a tool's description
        ("a2a_agent", "back office", ["/a"]),
        ("a2a_agent", "nothing", []),
        ("skill", "FORMS", ["/s1", "/s2"]),
        ("", "fill", ["/a", "/s1", "/s2"]),
        ("mcp_server", ".*", []),
    ],
)
def test_a_list_is_a_plain_look_for_a_piece_of_text(engine: Engine, kind: str, query: str, expected: list[str]) -> None:
    assert [record["path"] for record in engine.registry.listing(kind, query)] == expected


def test_lists_obey_the_gates(engine: Engine) -> None:
    def listed(viewer: Viewer | None, **include: bool) -> list[str]:
        return [record["path"] for record in engine.registry.listing("mcp_server", "", viewer, **include)]

    assert listed(EVERYONE) == ["/browser", "/mail"]
    assert listed(Viewer("ann")) == ["/browser", "/hidden", "/mail"]
    assert listed(EVERYONE, include_deprecated=True) == ["/browser", "/mail", "/old"]
    with pytest.raises(ConfigError):
        engine.registry.listing("servers")


def test_metadata_adds_a_tenth_to_a_skill(engine: Engine) -> None:
    found = {skill["path"]: skill["relevance_score"] for skill in engine.registry.skills_search("Forms")}
    assert list(found) == ["/s2", "/s1"]
    assert found["/s2"] - found["/s1"] == pytest.approx(0.1)
    assert [skill["path"] for skill in engine.registry.skills_search("MARGUERITE")] == ["/s1"]
    with pytest.raises(ConfigError):
        engine.registry.skills_search(" ")


def test_tags_with_their_numbers(engine: Engine) -> None:
    assert engine.registry.tags(EVERYONE) == [{"tag": "Web", "count": 1}, {"tag": "office", "count": 1}]


@pytest.mark.model
def test_the_tags_of_documents_count_too(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    found = {one["tag"]: one["count"] for one in engine.registry.tags(EVERYONE)}
    assert found == {"Web": 1, "office": 1, "security": 1, "start": 1}
