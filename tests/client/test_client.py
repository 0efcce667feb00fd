"""`Client` against a real server, and against servers that misbehave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import Served, served
from watersmeet import Client, Engine
from watersmeet.core.errors import (
    Ambiguous,
    ConfigError,
    Degraded,
    IndexProblem,
    ModelProblem,
    NoIndex,
    NoReply,
    NotAllowed,
    NotFound,
    Unreachable,
    WatersmeetError,
)
from watersmeet.core.model import Condition, Request
from watersmeet.engine.ask import ask as asking
from watersmeet.engine.ask.model import Turn
from watersmeet.engine.sync.report import Progress
from watersmeet.face.tokens import Tokens
from watersmeet.testing import ScriptedChat
from web import Site, answer, leads_to, raw, running

pytestmark = pytest.mark.server

CLOCK = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time", "tags": ["time"]}
BROKEN = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")


@pytest.fixture
def client(site: Served) -> Iterator[Client]:
    with Client(site.url + "/") as made:
        yield made


@pytest.fixture
def odd() -> Iterator[Site]:
    """A server that is none of ours."""
    with running(Site()) as made:
        yield made


# ---------------------------------------------------------------- what is asked


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_n": 1},
        {"mode": "lexical", "filters": {"tag": "security"}},
        {"filters": ["path=guides/**", "tag!=start"]},
        {"exclude": ["guides/keys.md"]},
        {"since": "2000-01-01", "before": "2100"},
        {"since": "90y", "intent": "security", "one_per_document": True, "expand": "page"},
        {"min_confidence": 1.0},
    ],
)
def test_a_search_has_all_that_an_answer_has(engine: Engine, client: Client, options: dict[str, Any]) -> None:
    expected, found = (
        engine.search("rotate keys on the server", **options),
        client.search("rotate keys on the server", **options),
    )
    assert found.results == expected.results
    for name in ("query", "mode", "recipe", "failures", "confidence", "silent", "no_good_match", "operators"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.timings.keys() == expected.timings.keys()
    assert client.search(Request("rotate keys"), top_n=1).results == engine.search("rotate keys", top_n=1).results


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 3}, "no option 'top'"),
        ({"top_n": 0}, "top_n must be"),
        ({"stop": lambda: True}, "stop cannot be sent"),
        ({"condition": Condition(also=(("tag", ("a",)),))}, "cannot be sent"),
        ({"mode": "psychic"}, "no mode called 'psychic'|mode"),
        ({"since": "yesterday"}, "not a date"),
    ],
)
def test_what_is_wrong_is_said_as_by_the_engine(client: Client, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        client.search("keys", **options)


def test_reading(engine: Engine, client: Client) -> None:
    assert client.documents() == engine.documents()
    for identity in ("guides/keys.md", "Setup", client.search("keys").results[0].id):
        assert client.get(identity) == engine.get(identity)
    assert client.related("guides/keys.md", 2).results == engine.related("guides/keys.md", 2).results
    assert client.classify("TRN-1042") == engine.classify("TRN-1042")
    request = Request("tides", top_n=1)
    assert client.why_not(request, "guides/keys.md") == engine.why_not(request, "guides/keys.md")
    found, expected = client.status(), engine.status()
    assert {name: found[name] for name in ("documents", "chunks", "kinds", "signals")} == {
        name: expected[name] for name in ("documents", "chunks", "kinds", "signals")
    }
    client.check()


def test_lists_with_filters(engine: Engine, client: Client) -> None:
    for options in (
        {"filters": {"tag": "security"}},
        {"filters": ["path=guides/**", "tag!=start"], "sort": "title"},
        {"exclude": ["guides/keys.md"], "since": "2000"},
    ):
        assert client.documents(**options) == engine.documents(**options)
        assert 0 < len(client.documents(**options)) < len(engine.documents())
    assert client.tags() == engine.tags()
    assert client.tags(prefix="se", filters={"path": "guides/**"}) == engine.tags(prefix="se")
    with pytest.raises(ConfigError, match="no option 'tag'"):
        client.documents(tag="security")


def test_every_page_of_the_documents_is_read(client: Client, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    monkeypatch.setattr("watersmeet.client.client.PAGE", 3)
    assert client.documents() == engine.documents()
    assert len(engine.documents()) > 3


def test_names_that_are_hard_to_send(engine: Engine, client: Client, vault: Path) -> None:
    names = ["a b.md", "50%.md", "what?.md", "c#.md", "ü/東京.md", "a+b&c=d.md"]
    for name in names:
        (vault / name).parent.mkdir(exist_ok=True)
        (vault / name).write_text(f"# {name}\n\nStrange.\n")
    engine.sync([vault])
    for name in names:
        assert client.get(name)["document"] == name
        assert client.related(name).results == ()
    with pytest.raises(NotFound):
        client.get("")


def test_the_registry(engine: Engine, client: Client) -> None:
    report = client.registry.register(CLOCK)
    assert (report.registered, report.skipped) == (1, [])
    assert client.registry.register([{**CLOCK, "path": "/two"}, {"name": 3}]).twins[0].same_as == "/clock"
    assert client.registry.get("/clock") == engine.registry.get("/clock")
    assert client.registry.configuration("/clock") == engine.registry.configuration("/clock")
    assert (
        client.registry.search("time", tags=("time",)).servers == engine.registry.search("time", tags=("time",)).servers
    )
    assert client.registry.find_tools("tell the time").servers == engine.registry.find_tools("tell the time").servers
    assert [one["path"] for one in client.registry.listing("mcp_server", "clock")] == ["/clock", "/two"]
    assert client.registry.listing("skill") == []
    assert client.registry.skills_search("time") == []
    assert client.registry.tags() == engine.registry.tags()
    assert (client.registry.disable("/clock"), client.registry.disable("/clock")) == (1, 0)
    assert len(client.registry.listing()) == 1
    assert len(client.registry.listing(include_disabled=True)) == 2
    assert client.registry.enable(["/clock", "/two"]) == 1
    assert client.registry.set_status("/clock", "beta") == 1
    assert engine.registry.get("/clock")["status"] == "beta"
    assert client.registry.unregister(["/clock", "/two"]) == 2
    with pytest.raises(NotFound):
        client.registry.get("/clock")
    with pytest.raises(ConfigError, match="no option 'top'"):
        client.registry.search("x", top=3)
    with pytest.raises(ConfigError, match="records, not files"):
        client.registry.register("servers.json")  # type: ignore[arg-type]


def test_syncing_and_removing(engine: Engine, client: Client, vault: Path) -> None:
    assert client.roots() == engine.roots()
    assert [one["documents"] for one in client.roots()] == [len(engine.documents())]
    (vault / "new.md").write_text("# New\n\nFresh.\n")
    planned = client.sync(dry_run=True).planned
    assert [(one.action, one.document) for one in planned or ()] == [("added", "new.md")]
    assert engine.sync(dry_run=True).planned == planned
    report = client.sync([vault])
    assert (report.added, report.unchanged, report.planned) == (1, len(engine.documents()) - 1, None)
    (vault / "new.md").write_text("# New\n\nChanged.\n")
    steps: list[Progress] = []
    assert client.sync(progress=steps.append).changed == 1
    assert steps
    with pytest.raises(ConfigError, match="in no folder of this index"):
        client.sync([vault.parent])
    with pytest.raises(WatersmeetError, match="in no folder of this index"):
        client.sync([vault.parent], progress=steps.append)
    assert client.remove("new.md") == 1
    assert client.remove([]) == 0
    with pytest.raises(NotFound):
        client.remove(["new.md"])
    assert client.remove([one["document"] for one in engine.documents()][:2]) == 2


# ---------------------------------------------------------------- answers


def test_an_answer_grows(engine: Engine, client: Client) -> None:
    parts: list[str] = []
    found = client.ask("how do I rotate keys?", on_text=parts.append, filters={"tag": "security"})
    expected = engine.ask("how do I rotate keys?", filters={"tag": "security"})
    assert "".join(parts) == found.answer == expected.answer
    assert (found.citations, found.statements, found.tokens) == (
        expected.citations,
        expected.statements,
        expected.tokens,
    )
    assert client.ask("operas by Bizet").nearest == engine.ask("operas by Bizet").nearest
    with pytest.raises(ConfigError, match="no option 'mode'"):
        client.ask("how?", mode="lexical")


def test_a_follow_up_question(engine: Engine, client: Client) -> None:
    history = [Turn("how do I rotate keys?", "With rotate_keys [1].")]
    found, expected = client.ask("how often?", history=history), engine.ask("how often?", history=history)
    assert (found.query, found.answer) == (expected.query, expected.answer)
    assert "rotate keys" in found.query


def test_an_error_in_the_middle_of_an_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = ScriptedChat([ModelProblem("the model broke off", "try again")])
    monkeypatch.setattr(asking, "chat_model", lambda settings: chat)
    with pytest.raises(ModelProblem, match="broke off") as caught:
        client.ask("how do I rotate keys?")
    assert caught.value.hint == "try again"


# ---------------------------------------------------------------- errors


def test_errors_are_those_of_the_engine(engine: Engine, client: Client, write: Any) -> None:
    for call in (lambda of: of.get("nothing.md"), lambda of: of.related("nothing.md")):
        with pytest.raises(NotFound) as expected:
            call(engine)
        with pytest.raises(NotFound) as caught:
            call(client)
        assert (str(caught.value), caught.value.hint) == (str(expected.value), expected.value.hint)
    engine.sync([write({"one/same.md": "# Same\n", "two/same.md": "# Same\n"})])
    with pytest.raises(Ambiguous):
        client.get("Same")
    with pytest.raises(Degraded):
        client.search("keys", mode="hybrid", strict=True)


def test_no_index(engine: Engine) -> None:
    with served(engine) as site, pytest.raises(NoIndex):
        Client(site.url).search("keys")


def test_a_server_that_only_reads(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    with served(engine) as site, pytest.raises(NotAllowed, match="read-only") as caught:
        Client(site.url).registry.register(CLOCK)
    assert "--allow-write" in caught.value.hint


def test_tokens(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    _, reader = Tokens().create("read")
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as site:  # noqa: S104 - that is the point
        with pytest.raises(NotAllowed) as caught:
            Client(site.url).status()
        assert "token=" in caught.value.hint
        with pytest.raises(NotAllowed):
            Client(site.url, token="wrong").status()  # noqa: S106
        client = Client(site.url, token=reader)
        assert client.search("keys").results
        with pytest.raises(NotAllowed, match="scope write"):
            client.registry.register(CLOCK)
        assert reader not in repr(client) + repr(vars(client))


def test_no_server(odd: Site) -> None:
    odd.shutdown()
    odd.server_close()
    with pytest.raises(Unreachable, match="cannot be reached") as caught:
        Client(odd.url).status()
    assert "watersmeet serve" in caught.value.hint
    with pytest.raises(Unreachable):
        Client(odd.url).ask("how?")
    for address in ("127.0.0.1:7878", "notes", ""):
        with pytest.raises(ConfigError, match="not the address of a server"):
            Client(address)


def test_only_reads_are_tried_again(odd: Site) -> None:
    status = {"documents": 0}
    odd.script = [BROKEN, BROKEN, answer(json.dumps(status).encode())]
    assert Client(odd.url).status() == status
    assert len(odd.paths) == 3
    odd.script = [BROKEN, BROKEN, BROKEN, BROKEN]
    with pytest.raises(NoReply):
        Client(odd.url, retries=1).search("keys")
    assert len(odd.paths) == 5
    odd.script = [BROKEN, BROKEN]
    with pytest.raises(NoReply):
        Client(odd.url).registry.register(CLOCK)
    assert len(odd.paths) == 6
    odd.script = [answer(b"{}", 503)] * 2
    with pytest.raises(NoReply):
        Client(odd.url).status()
    assert len(odd.paths) == 7  # an answer is an answer


@pytest.mark.parametrize(
    "step",
    [
        answer(b"<html>"),
        answer(b"<html>", 404),
        answer(b'{"detail": "Not Found"}', 404),
        answer(b"[]", 500),
        leads_to("https://example.org/"),
        answer(b'{"results": [{"id": 3}]}'),
        answer(b'{"results": 3}'),
        answer(b'{"routed": [{}]}'),
        answer(b"[]"),
    ],
)
def test_another_server(odd: Site, step: Any) -> None:
    odd.always = step
    with pytest.raises(NoReply) as caught:
        Client(odd.url).search("keys")
    assert caught.value.hint
    for call in (Client(odd.url).documents, Client(odd.url).registry.tags, lambda: Client(odd.url).ask("how?")):
        with pytest.raises(NoReply):
            call()


def test_a_folder_that_is_not_indexed_yet(odd: Site) -> None:
    problem = {"status": 503, "detail": "the folder is being indexed", "error": "IndexProblem", "state": "starting"}
    odd.always = answer(json.dumps(problem).encode(), 503)
    with pytest.raises(IndexProblem, match="being indexed"):
        Client(odd.url).check()


def test_an_answer_that_breaks_off(odd: Site) -> None:
    event = b'event: text\ndata: {"text": "Rotate"}\n\n'
    odd.always = answer(event, headers={"Content-Type": "text/event-stream"})
    parts: list[str] = []
    with pytest.raises(NoReply, match="before the answer was whole"):
        Client(odd.url).ask("how?", on_text=parts.append)
    assert parts == ["Rotate"]
    assert len(odd.paths) == 1
