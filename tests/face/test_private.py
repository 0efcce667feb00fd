"""What is not for everyone: tried at every place where something could show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Served, served
from watersmeet import Engine
from watersmeet.core.visibility import OWNER, Viewer
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.slow

SECRET = {
    "kind": "mcp_server",
    "path": "/vault",
    "name": "flamingo vault",
    "description": "Keeps the flamingo launch codes",
    "tags": ["flamingo-tag"],
    "visibility": "group",
    "groups": ["pink"],
    "owner": "ann",
    "metadata": {"flamingo_field": "yes"},
    "tools": [{"name": "flamingo_launch", "description": "Launches the flamingo", "inputSchema": {"type": "object"}}],
}
OPEN = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time", "tags": ["time"]}


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    """One to write to."""
    engine.sync([vault])
    engine.registry.register([SECRET, OPEN])
    with served(engine, allow_write=True) as made:
        yield made


@pytest.fixture
def guarded(engine: Engine, vault: Path) -> Iterator[Served]:
    """As if it listened on all addresses."""
    engine.sync([vault])
    engine.registry.register([SECRET, OPEN])
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as made:  # noqa: S104 - that is the point
        yield made


def places(site: Served, token: str = "") -> dict[str, str]:
    """Everything that a reader can get at, as text."""
    search = {"query": "flamingo launch codes", "explain": True, "top_n": 50, "budget": 1000}
    asked = {
        "search": ("/api/search", search),
        "filtered": ("/api/search", {**search, "filters": {"flamingo_field": ["yes"]}}),
        "why not": ("/api/search", {**search, "why_not": "/vault"}),
        "semantic": ("/api/search/semantic", {"query": "flamingo launch", "include_disabled": True}),
        "tag": ("/api/search/semantic", {"tags": ["flamingo-tag"]}),
        "list": ("/api/documents?limit=1000", None),
        "servers": ("/api/servers", None),
        "entities": ("/api/entities", None),
        "tags": ("/api/search/tags", None),
        "tags of documents": ("/api/tags", None),
        "list by tag": ("/api/documents?tag=flamingo-tag", None),
        "tools": ("/api/find-tools?task=launch", None),
        "get": ("/api/documents//vault", None),
        "get tool": ("/api/documents//vault%23flamingo_launch", None),
        "entity": ("/api/entities/vault", None),
        "related": ("/api/related//vault", None),
        "status": ("/api/status", None),
        "metrics": ("/metrics", None),
    }
    return {name: site.ask(path, body, token=token).content.decode() for name, (path, body) in asked.items()}


def hidden(text: str) -> bool:
    """Nothing of it but the words that were asked with."""
    for asked in ("flamingo launch codes", "flamingo launch", "flamingo-tag", "/vault#flamingo_launch", "/vault"):
        text = text.replace(asked, "")
    return "flamingo" not in text.replace("flamingo_field", "") and "Launches" not in text


def test_a_private_entity_shows_nowhere(site: Served) -> None:
    for name, text in places(site).items():
        assert hidden(text), name


def test_totals_do_not_count_what_is_hidden(site: Served) -> None:
    assert site.ask("/api/status").json()["documents"] == 5  # four files and the clock
    assert site.ask("/api/status").json()["kinds"].get("mcp_server") == 1
    assert "tool" not in site.ask("/api/status").json()["kinds"]
    assert site.ask("/api/documents").json()["total"] == 5
    assert site.ask("/api/servers").json()["total"] == 1
    assert site.ask("/api/search/semantic", {"query": "flamingo"}).json()["total_servers"] == 0
    assert "watersmeet_index_documents 5" in site.ask("/metrics").content.decode()


def test_what_is_hidden_looks_like_what_is_not_there(site: Served) -> None:
    there, not_there = site.ask("/api/documents//vault"), site.ask("/api/documents//valut")
    assert (there.status, not_there.status) == (404, 404)
    assert there.content.replace(b"/vault", b"") == not_there.content.replace(b"/valut", b"")
    for method, body in (("PATCH", {"enabled": True}), ("DELETE", None)):
        assert site.ask("/api/entities/vault", body, method).status == 404


def test_nobody_replaces_what_they_cannot_see(site: Served) -> None:
    mine = {**OPEN, "path": "/vault", "name": "mine"}
    assert site.ask("/api/entities", mine).status == 404
    assert site.ask("/api/entities/vault", mine, "PUT").status == 404
    assert site.service.engine.registry.get("/vault", OWNER)["name"] == "flamingo vault"


def test_a_report_does_not_tell_of_a_hidden_twin(site: Served) -> None:
    twin = {**SECRET, "path": "/copy", "visibility": "public", "groups": [], "owner": ""}
    report = site.ask("/api/entities", twin).json()
    assert report["registered"] == 1
    assert "/vault" not in json.dumps(report)
    assert report["duplicates"] == 0


def test_its_group_and_its_owner_see_it(guarded: Served) -> None:
    _, pink = Tokens().create("read", "bob", ("pink", "blue"))
    _, ann = Tokens().create("read", "ann")
    _, other = Tokens().create("read", "eve", ("blue",))
    for token in (pink, ann):
        seen = places(guarded, token)
        assert "launch codes" in guarded.ask("/api/documents//vault", token=token).content.decode()
        assert '"/vault"' in seen["servers"]
        assert '"document": "/vault' in seen["search"]
    assert all(hidden(text) for text in places(guarded, other).values())


def test_viewers_of_tokens() -> None:
    token, _ = Tokens().create("read", "ann", ("pink",))
    assert Viewer(token.user, token.groups) == Viewer("ann", ("pink",))


# ------------------------------------------------------------ writing what is not for the writer


def _writer(user: str = "bob") -> str:
    return Tokens().create("write", user=user)[1]


HIDDEN = {"_id": "loose", "title": "vault", "text": "Codes", "metadata": {"visibility": "private", "owner": "ann"}}


def test_tools_of_nobody_do_not_reach_a_server_that_the_writer_cannot_see(guarded: Served) -> None:
    engine = guarded.service.engine
    for path in ("/records", "/stdin", "/-", "/"):
        private = {**SECRET, "path": path, "visibility": "private", "groups": []}
        engine.registry.register([private])
    body = [{"name": "evil", "description": "x", "inputSchema": {"type": "object"}}]
    for sent in (body, [{"tools": body}], [{"result": {"tools": body}}]):
        assert guarded.ask("/api/entities", sent, token=_writer()).status in (400, 404, 422)
    for path in ("/records", "/stdin", "/-", "/"):
        assert [tool["name"] for tool in engine.registry.get(path)["tools"]] == ["flamingo_launch"]


def test_a_twin_that_the_writer_cannot_see_is_not_named(guarded: Served) -> None:
    guarded.service.engine.registry.register([HIDDEN])
    open_twin = {"_id": "other", "title": "vault", "text": "Codes"}
    answer = guarded.ask("/api/entities", [open_twin, {**open_twin, "_id": "third"}], token=_writer())
    assert (answer.status, answer.json()["registered"]) == (200, 2)
    assert b"loose" not in answer.content


def test_a_path_without_a_slash_is_taken_too(guarded: Served) -> None:
    """That there is another one with a slash does not open it."""
    engine = guarded.service.engine
    engine.registry.register([HIDDEN, {"path": "/loose", "name": "open", "description": "for all"}])
    answer = guarded.ask("/api/entities", [{"_id": "loose", "title": "mine", "text": "now"}], token=_writer())
    assert answer.status == 404
    assert engine.registry.get("loose")["name"] == "vault"


def test_a_record_that_is_nested_too_deeply_is_named(guarded: Served) -> None:
    deep: object = "bottom"
    for _ in range(150):
        deep = {"items": deep}
    bad = {"path": "/bad", "name": "bad", "tools": [{"name": "t", "inputSchema": deep}]}
    answer = guarded.ask("/api/entities", [bad, {"path": "/good", "name": "good"}], token=_writer())
    assert (answer.status, answer.json()["registered"], len(answer.json()["skipped"])) == (200, 1, 1)
