"""REST: every route, what it refuses, and what it says of itself."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import Served, served
from watersmeet import Engine
from watersmeet.core.model import Request

pytestmark = pytest.mark.slow

WEATHER = {
    "kind": "mcp_server",
    "path": "/weather",
    "name": "weather",
    "description": "Forecasts for any place on earth",
    "tags": ["weather"],
    "tools": [{"name": "forecast", "description": "The weather of the next days", "inputSchema": {"type": "object"}}],
}


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    engine.sync([vault])
    with served(engine, allow_write=True) as made:
        yield made


def test_search_answers_as_the_contract_says(site: Served) -> None:
    answer = site.ask("/api/search", {"query": "rotate keys", "top_n": 3})
    found = answer.json()
    assert answer.status == 200
    assert set(found) >= {"query", "mode", "recipe", "results", "failures", "took_ms"}
    assert found["mode"] == "lexical"
    assert found["results"][0]["document"] == "guides/keys.md"
    assert found["results"][0]["score"] == 1.0


@pytest.mark.parametrize("name", ["top_n", "limit", "max_results", "top_k", "topK"])
def test_how_many_goes_by_any_name_that_people_know(site: Served, name: str) -> None:
    assert len(site.ask("/api/search", {"query": "the", name: 1}).json()["results"]) <= 1
    assert site.ask("/api/search", {"query": "keys", name: 0}).status == 422
    assert site.ask("/api/search/semantic", {"query": "weather", name: 51}).status == 422
    assert site.ask("/api/search/semantic", {"query": "weather", name: 3}).status == 200


def test_every_parameter_has_an_example_where_one_helps(site: Served) -> None:
    told = site.ask("/openapi.json").json()["paths"]
    named = {
        (path, parameter["name"]): parameter
        for path, methods in told.items()
        for method in methods.values()
        for parameter in method.get("parameters", ())
    }
    for where in (("/api/documents/{identity}", "identity"), ("/api/servers", "query"), ("/api/find-tools", "task")):
        assert named[where].get("examples") or named[where]["schema"].get("examples")


def test_filters_budget_and_explanations(site: Served) -> None:
    asked = {"query": "keys", "filters": {"tag": "security"}, "budget": 1000, "explain": True}
    found = site.ask("/api/search", asked).json()
    assert {one["document"] for one in found["results"]} == {"guides/keys.md"}
    assert found["pack"]["tokens"] <= 1000
    assert found["pack"]["citations"]
    assert found["timings"]
    assert found["results"][0]["why"][0].startswith("[")


def test_why_not_says_where_a_document_fell_out(site: Served) -> None:
    found = site.ask("/api/search", {"query": "rotate keys", "why_not": "notes/ideas.txt"}).json()
    assert found["why_not"]["document"] == "notes/ideas.txt"


def test_documents_are_listed_read_and_related(site: Served) -> None:
    listed = site.ask("/api/documents?limit=2&offset=1").json()
    assert (len(listed["documents"]), listed["total"]) == (2, 4)
    assert site.ask("/api/documents/guides/keys.md").json()["title"] == "Keys"
    related = site.ask("/api/related/index.md").json()
    assert {one["document"] for one in related["results"]} == {"guides/setup.md", "guides/keys.md"}
    assert site.ask("/api/documents/guides/nothing.md").status == 404


def test_status_and_classify_and_health(site: Served) -> None:
    status = site.ask("/api/status").json()
    assert status["documents"] == 4
    assert "roots" not in status
    assert "index" not in status
    assert site.ask("/api/classify?query=TRN-1042").json()["kind"] == "identifier"
    assert site.ask("/health").json() == {"status": "ok"}


def test_metrics_count_requests_steps_and_coverage(site: Served) -> None:
    site.ask("/api/search", {"query": "flamingo-secret"})
    site.ask("/nowhere")
    text = site.ask("/metrics").content.decode()
    assert 'watersmeet_requests_total{route="/api/search",method="POST",status="200"} 1' in text
    assert 'watersmeet_requests_total{route="other",method="GET",status="404"} 1' in text
    assert 'watersmeet_step_seconds_count{step="lexical"} 1' in text
    assert 'watersmeet_signal_coverage{signal="lexical"} 1.0' in text
    assert 'watersmeet_request_seconds_bucket{route="/api/search",le="+Inf"} 1' in text
    assert "flamingo" not in text


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"query": "x", "topn": 3}, 422, "topn"),
        ({"query": "x", "top_n": 0}, 422, "top_n"),
        ({"query": "x", "top_n": True}, 422, "top_n"),
        ({"query": "x", "top_n": "3"}, 422, "top_n"),
        ({"query": ""}, 422, "query"),
        ({"query": "x" * 513}, 422, "512"),
        ({"query": "x", "mode": "psychic"}, 400, "psychic"),
        ({"query": "x", "mode": "dense", "strict": True}, 424, "dense could not run"),
        ({"query": "x", "recipe": "soup"}, 400, "soup"),
        ({"query": "x", "since": "yesterday-ish"}, 400, "date"),
        ({"query": "x", "filters": {"a=b": ["c"]}}, 400, "filter"),
        (b"{not json", 400, "not JSON"),
    ],
)
def test_what_is_wrong_is_said_with_a_hint(site: Served, body: object, status: int, said: str) -> None:
    answer = site.ask("/api/search", body, Content_Type="application/json")
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert said in problem["detail"]


def test_a_query_of_512_characters_is_fine(site: Served) -> None:
    assert site.ask("/api/search", {"query": "x" * 512}).status == 200


def test_an_entity_is_registered_found_changed_and_forgotten(site: Served) -> None:
    report = site.ask("/api/entities", WEATHER)
    assert (report.status, report.json()["registered"]) == (200, 1)
    sought = {"query": "weather forecast", "entity_types": ["mcp_server", "tool"], "max_results": 10}
    found = site.ask("/api/search/semantic", sought).json()
    assert [one["path"] for one in found["servers"]] == ["/weather"]
    assert found["servers"][0]["matching_tools"][0]["tool_name"] == "forecast"
    assert "inputSchema" not in found["servers"][0]["matching_tools"][0]
    assert found["tools"][0]["inputSchema"] == {"type": "object"}
    assert found["search_mode"] == "lexical-only"
    assert [one["path"] for one in site.ask("/api/servers?query=FORECASTS").json()["servers"]] == ["/weather"]
    assert site.ask("/api/agents?query=forecasts").json()["total"] == 0
    tags = {one["tag"]: one["count"] for one in site.ask("/api/search/tags").json()["tags"]}
    assert tags == {"security": 1, "start": 1, "weather": 1}
    listed = site.ask("/api/tags").json()["tags"]
    assert {"tag": "security", "documents": 1} in listed
    assert [one["tag"] for one in site.ask("/api/tags?prefix=sec").json()["tags"]] == ["security"]
    secure = site.ask("/api/documents?tag=security&filter=path%3D*.md&sort=title").json()
    assert (secure["total"], len(secure["documents"])) == (1, 1)
    assert site.ask("/api/documents?sort=size").status in (400, 422)
    assert site.ask("/api/documents?tga=security").status in (400, 422)
    assert site.ask("/api/find-tools?task=weather%20tomorrow").json()["tools"][0]["tool_name"] == "forecast"
    assert site.ask("/api/entities/weather", {"status": "deprecated"}, "PATCH").json()["status"] == "deprecated"
    assert site.ask("/api/search/semantic", sought).json()["servers"] == []
    again = site.ask("/api/search/semantic", {**sought, "include_deprecated": True}).json()
    assert [one["path"] for one in again["servers"]] == ["/weather"]
    assert site.ask("/api/entities/%2Fweather", {"enabled": False}, "PATCH").json()["enabled"] is False
    assert site.ask("/api/entities//weather", None, "DELETE").json() == {"removed": 1}
    assert site.ask("/api/entities/weather").status == 404


def test_put_replaces_under_the_path_of_the_address(site: Served) -> None:
    for words in ("Forecasts", "Tides and currents"):
        put = site.ask("/api/entities/sea", {**WEATHER, "path": "/other", "description": words}, "PUT")
        assert (put.status, put.json()["registered"]) == (200, 1)
    assert site.ask("/api/entities/sea").json()["description"] == "Tides and currents"
    assert site.ask("/api/entities").json()["total"] == 1


@pytest.mark.parametrize(
    ("path", "record", "kind"),
    [
        ("/sea", {"server_name": "Sea", "description": "Tides"}, "mcp_server"),
        ("/sea", {"server_name": "Sea", "tools": [{"name": "tide", "inputSchema": {}}]}, "mcp_server"),
        ("/skills/sea", {"name": "Sea", "description": "Tides"}, "skill"),
        ("/agents/sea", {"name": "Sea", "url": "https://sea", "skills": []}, "a2a_agent"),
    ],
)
def test_put_needs_no_path_but_that_of_the_address(site: Served, path: str, record: Any, kind: str) -> None:
    assert site.ask(f"/api/entities{path}", record, "PUT").json()["registered"] == 1
    shown = site.ask(f"/api/entities{path}").json()
    assert (shown["path"], shown["name"], shown["kind"]) == (path, "Sea", kind)


@pytest.mark.parametrize("record", [{"nonsense": 1}, {"tools": [{"name": "tide"}]}])
def test_put_says_why_it_cannot_be(site: Served, record: Any) -> None:
    refused = site.ask("/api/entities/sea", record, "PUT")
    assert refused.status == 422
    assert "no `server_name`" in refused.json()["detail"]


def test_skills_are_searched_by_words(site: Served) -> None:
    skill = {"kind": "skill", "path": "/skills/pdf", "name": "pdf", "description": "Fill in forms"}
    assert site.ask("/api/entities", [skill]).status == 200
    found = site.ask("/api/skills/search?q=FORMS").json()
    assert [one["path"] for one in found["skills"]] == ["/skills/pdf"]


def test_what_is_no_record_is_refused_with_the_reason(site: Served) -> None:
    answer = site.ask("/api/entities", {"nonsense": 1})
    assert (answer.status, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert site.ask("/api/entities/weather", {}, "PATCH").status == 422
    assert site.ask("/api/entities/nothing", {"status": "draft"}, "PATCH").status == 404


def test_neither_a_query_nor_tags_is_a_bad_request(site: Served) -> None:
    assert site.ask("/api/search/semantic", {}).status == 400


@pytest.mark.server
def test_without_allow_write_nothing_is_written(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    with served(engine) as site:
        answer = site.ask("/api/entities", WEATHER)
    assert answer.status == 403
    assert "--allow-write" in answer.json()["hint"]


@pytest.mark.server
def test_without_an_index_the_answer_is_503_with_a_hint(engine: Engine) -> None:
    with served(engine) as site:
        answer = site.ask("/api/search", {"query": "x"})
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert "sync" in answer.json()["hint"]
        assert site.ask("/metrics").status == 200


def test_a_body_without_a_type_is_told_which_to_send(site: Served) -> None:
    for sent in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answer = site.raw("POST", "/api/search", b'{"query": "keys"}', sent)
        assert answer.status == 415
        assert "Content-Type: application/json" in answer.json()["hint"]
    typed = {"Content-Type": "application/json; charset=utf-8"}
    assert site.raw("POST", "/api/search", b'{"query": "keys"}', typed).status == 200


def test_the_api_describes_itself_with_examples(site: Served) -> None:
    spec = site.ask("/openapi.json").json()
    statuses = set(spec["paths"]["/api/search"]["post"]["responses"])
    assert statuses >= {"200", "400", "401", "403", "413", "422", "429", "503"}
    assert spec["components"]["schemas"]["SearchBody"]["examples"]
    assert "404" in spec["paths"]["/api/documents/{identity}"]["get"]["responses"]
    for path, methods in spec["paths"].items():
        for method, about in methods.items():
            assert about["summary"], (path, method)


def test_the_page_may_run_nothing_but_itself(site: Served) -> None:
    answer = site.ask("/")
    policy = answer.headers["Content-Security-Policy"]
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    folder = re.findall(r'src="(/web/\w+)/main.js"', answer.content.decode())[0]
    for name, kind in {"main.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8"}.items():
        file = site.ask(f"{folder}/{name}")
        assert (file.status, file.headers["Content-Type"]) == (200, kind)
        assert "immutable" in file.headers["Cache-Control"]  # its address changes with its content


@pytest.mark.parametrize("name", ["page.html", "__init__.py", "..%2frest%2fpage.py", "nothing.js", ""])
def test_other_files_of_the_page_are_not_served(site: Served, name: str) -> None:
    folder = re.findall(r'src="(/web/\w+)/main.js"', site.ask("/").content.decode())[0]
    assert site.ask(f"{folder}/{name}").status == 404
    assert site.ask("/web/0000000000000000/main.js").status == 404


def test_who_went_away_is_not_worked_for(site: Served) -> None:
    """Long work is begun, the asker leaves, and what waits behind is never begun."""
    stopped: list[bool] = []
    engine = site.service.engine
    before = engine.search

    def slow(request: Request) -> object:
        end = time.monotonic() + 20
        while time.monotonic() < end and not request.stop():
            time.sleep(0.01)
        stopped.append(request.stop())
        return before(request)

    engine.search = slow  # slowness is what is tested
    body = json.dumps({"query": "keys"}).encode()
    askers = []
    for _ in range(site.service.limits.workers + 5):
        asker = socket.create_connection(("127.0.0.1", site.port))
        head = f"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        asker.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        askers.append(asker)
    deadline = time.monotonic() + 10
    while site.service.work.under_way < len(askers) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert site.ask("/health").status == 200  # the event loop is free
    for asker in askers:
        asker.close()
    while site.service.work.under_way and time.monotonic() < deadline:
        time.sleep(0.01)
    assert site.service.work.under_way == 0
    assert stopped == [True] * site.service.limits.workers


@pytest.mark.server
def test_more_than_can_wait_is_told_to_come_back(engine: Engine, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.sync([vault])
    with served(engine) as site:
        monkeypatch.setattr(site.service.work, "_capacity", 0)
        answer = site.ask("/api/search", {"query": "keys"})
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.server
def test_what_takes_too_long_is_given_up(engine: Engine, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.sync([vault])
    with served(engine) as site:
        monkeypatch.setattr(site.service.work, "_seconds", 0.05)
        monkeypatch.setattr(engine, "documents", lambda viewer, **_: time.sleep(0.5))
        answer = site.ask("/api/documents")
    assert answer.status == 503
    assert "within" in answer.json()["detail"]


@pytest.mark.server
def test_a_defect_is_said_without_what_was_asked(
    engine: Engine, vault: Path, home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.sync([vault])

    def broken(request: Request) -> object:
        raise RuntimeError(request.query)

    monkeypatch.setattr(engine, "search", broken)
    with served(engine) as site:
        answer = site.ask("/api/search", {"query": "flamingo"})
    assert (answer.status, answer.headers["Content-Type"]) == (500, "application/problem+json")
    kept = (home / "cache" / "watersmeet" / "last-server-error.txt").read_text()
    said = capfd.readouterr()
    assert "RuntimeError" in kept
    assert "flamingo" not in kept + said.out + said.err + answer.content.decode()


def test_a_connection_serves_many_requests(site: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/api/status")
        assert connection.getresponse().read()
    connection.close()
