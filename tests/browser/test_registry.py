"""The registry on the page: percentages, schemas that can be read whatever they hold, and configurations to copy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from command import START
from page_actions import problems, settled
from serving_command import serving

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
PICTURES = Path(os.environ.get("PICTURES", "build/pictures"))
WIDTHS = {"phone": (390, 844), "tablet": (820, 1100), "desktop": (1440, 900)}
QUERY = "plan a journey by train"


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for level in range(levels):
        found = {"type": "object", "properties": {f"level{levels - level}": found, "other": {"type": "integer"}}}
    return found


PLAN = {
    "type": "object",
    "required": ["from", "stops"],
    "properties": {
        "from": {"type": "string", "description": "The station to begin at", "minLength": 2},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}, "maxItems": 9, "description": "Stations between"},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
        "class": {"type": "string", "enum": ["first", "second"], "default": "second"},
        "seats": {"type": ["integer", "string"], "minimum": 1, "maximum": 8},
        "fares": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "$defs": {
        "Stop": {
            "type": "object",
            "required": ["station"],
            "properties": {
                "station": {"type": "string"},
                "minutes": {"type": "integer", "exclusiveMinimum": 0},
                "then": {"$ref": "#/$defs/Stop"},
            },
        }
    },
}
HOSTILE = {
    "type": "object",
    "properties": {
        "__proto__": {"type": "string", "description": "<img src=x onerror=alert(1)> \u202egnp"},
        "constructor": {"$ref": "#/properties/constructor"},
        "outside": {"$ref": "https://example.org/schema.json"},
        "nowhere": {"$ref": "#/$defs/__proto__/x"},
        "many": {"enum": [f"value {n}" for n in range(5000)]},
        "deep": deep(20),
        "odd": "not a schema",
        "list": {"type": "array", "items": [{"type": "string"}]},
        **{f"field{n:04}": {"type": "string"} for n in range(1500)},
    },
}
TRAINS = {
    "path": "/io.example/trains",
    "name": "Trains",
    "description": "Plan a journey by train, with every stop.",
    "tags": ["travel"],
    "version": "2.1.0",
    "status": "beta",
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://mcp.example.org/{tenant}/mcp",
            "headers": [{"name": "Authorization", "value": "Bearer {token}", "isSecret": True, "isRequired": True}],
        }
    ],
    "packages": [{"registryType": "npm", "identifier": "@example/trains", "version": "2.1.0"}],
    "tools": [
        {"name": "plan-journey", "description": "Plan a journey by train", "inputSchema": PLAN},
        {"name": "odd-journey", "description": "A journey with an odd schema", "inputSchema": HOSTILE},
    ],
}
ENTITIES = [
    {"kind": "mcp_server", **TRAINS},
    {"kind": "mcp_server", "path": "/timetable", "name": "Timetable", "description": "Times of each train journey"},
    {
        "kind": "virtual_server",
        "path": "/virtual/travel",
        "name": "Travel",
        "description": "Every journey by train and ferry",
        "tool_mappings": [{"tool_name": "plan-journey", "alias": "plan", "backend_server_path": "/io.example/trains"}],
    },
    {
        "kind": "a2a_agent",
        "path": "/agents/guide",
        "name": "Guide",
        "description": "Goes along on a journey by train",
        "skills": [{"id": "talk", "name": "Talk", "description": "Tells of each station"}],
    },
    {"kind": "skill", "path": "/skills/tickets", "name": "tickets", "description": "Buy a ticket", "version": "3"},
]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("registry")
    environ = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    (folder / "registry.json").write_text(json.dumps(ENTITIES), "utf8")
    register = [START, "register", "registry.json", "--no-deepen", "--quiet"]
    subprocess.run([sys.executable, "-c", *register], cwd=folder, env=environ, check=True)
    with serving(folder, environ) as address:
        yield address


@pytest.fixture
def visit(opened: Open, registry: str) -> Open:
    """Open the page over the registry."""
    return lambda path="", *rest: opened(registry + path, *rest)


def found(visit: Open, query: str = QUERY, *how: Any) -> Page:
    page = visit("", *how)
    page.locator("[data-scope=registry]").evaluate("(button) => button.click()")
    page.fill("#query", query)
    settled(page, query)
    return page


def card(page: Page, name: str) -> Any:
    return page.locator(".card", has=page.locator("h3", has_text=re.compile(f"^{name}$")))


def test_scores_are_percentages_and_say_of_what(visit: Open) -> None:
    page = found(visit)
    expect(page.locator(".scale")).to_contain_text("Percentages")
    shares = [int(text.split()[0]) for text in page.locator(".share").all_inner_texts()]
    assert shares
    assert max(shares) == 100 or "By words alone" in page.locator(".scale").inner_text()
    assert all(0 < share <= 100 for share in shares)
    expect(page.locator("#summary")).to_contain_text(re.compile("a (sure|likely) match|Nothing fits"))
    assert not re.search(r"\d\.\d{3}", page.locator("#cards").inner_text())


@pytest.mark.parametrize("mode", ["hybrid", "lexical-only"])
def test_no_full_bar_stands_beside_nothing_fits(visit: Open, mode: str) -> None:
    """Scores that are scaled to the best are left out; shares of a full match are true as they are."""
    page = visit()
    nearest = {
        "server_name": "Far",
        "path": "/far",
        "relevance_score": 1.0 if mode == "hybrid" else 0.15,
        "num_tools": 0,
    }
    told = {"query": "zyzzyva", "search_mode": mode, "no_good_match": True, "confidence_words": "nothing fits"}
    answer = json.dumps({**told, "servers": [nearest]})
    page.route("**/api/search/semantic", lambda route: route.fulfill(content_type="application/json", body=answer))
    page.locator("[data-scope=registry]").press("Enter")
    page.fill("#query", "zyzzyva")
    settled(page, "zyzzyva")
    expect(page.locator("#summary")).to_contain_text("Nothing fits this well. The nearest: 1 result")
    expect(page.locator(".card")).to_have_count(1)
    if mode == "hybrid":
        expect(page.locator(".card .meter")).to_have_count(0)
        expect(page.locator(".scale")).to_contain_text("there are none")
        assert "100 %" not in page.locator(".card").inner_text()
    else:
        expect(page.locator(".share")).to_have_text("15 %")


def test_a_list_by_tags_has_no_percentages(visit: Open) -> None:
    page = found(visit, "#travel")
    expect(card(page, "Trains")).to_be_visible()
    expect(page.locator(".share")).to_have_count(0)
    expect(page.locator(".scale")).to_have_text("With these tags, last changed first.")


def test_cards_show_what_the_records_say(visit: Open) -> None:
    page = found(visit)
    trains = card(page, "Trains")
    for text in ("beta", "2 tools", "#travel"):
        expect(trains.locator(".badge", has_text=text)).to_be_visible()
    expect(card(page, "Timetable").locator(".badge")).to_have_text("lists no tools")
    expect(card(page, "Travel")).to_contain_text("Backends: /io.example/trains")
    guide = card(page, "Guide")
    guide.get_by_text("Skills (1)").click()
    expect(guide).to_contain_text("Tells of each station")
    trains.get_by_text("Details and all tools").click()
    facts = trains.locator(".facts")
    expect(facts).to_contain_text("2.1.0")
    expect(facts).to_contain_text("streamable-http, stdio")
    trains.locator(".tool summary", has_text="plan-journey").first.click()
    trains.locator(".tool[open]").get_by_text("Parameters (6)").click()
    expect(trains.locator(".parameters").first).to_contain_text("The station to begin at")


def test_a_schema_is_a_table_with_what_is_inside(visit: Open) -> None:
    page = found(visit)
    tool = card(page, "plan-journey")
    tool.get_by_text("Parameters (6)").click()
    table = tool.locator(".parameters").first
    expect(table.locator("> tbody > tr").first).to_be_visible()
    rows = {
        row.locator("> th").inner_text(): [cell.inner_text() for cell in row.locator("> td").all()]
        for row in table.locator("> tbody > tr:not(.nested)").all()
    }
    assert rows["from"] == ["string", "required", "The station to begin at\nat least 2 characters"]
    assert rows["stops"][:2] == ["list of object", "required"]
    assert "at most 9 items" in rows["stops"][2]
    assert rows["at"] == ["string (date-time) or null", "optional", "default null"]
    assert rows["class"] == ["string", "optional", 'one of "first", "second"; default "second"']
    assert rows["seats"] == ["integer or string", "optional", "1 to 8"]
    assert rows["fares"][0] == "map of number"
    inner = tool.locator(".nested table")
    expect(inner).to_have_count(1)
    assert "Stop, as above" in inner.inner_text()
    assert "above 0" in inner.inner_text()
    fold = tool.locator(".nested details")
    fold.locator("summary").click()
    expect(inner).to_be_hidden()


def test_no_schema_can_harm_the_page(visit: Open) -> None:
    page = found(visit, "a journey with an odd schema")
    tool = card(page, "odd-journey")
    tool.get_by_text("Parameters (1508)").click()
    table = tool.locator(".parameters").first
    expect(table).to_contain_text("__proto__")
    expect(table).to_contain_text("<img src=x onerror=alert(1)> \\u202egnp")
    expect(table).to_contain_text("constructor, as above")
    expect(table).to_contain_text("schema.json")
    expect(table).to_contain_text("and 4988 more")
    expect(table).to_contain_text("list of string")
    expect(tool).to_contain_text("more, in the JSON schema")
    assert tool.locator("tr").count() < 250
    assert tool.locator("img").count() == 0
    tool.get_by_text("JSON schema", exact=True).click()
    expect(tool.locator("pre")).to_contain_text("__proto__")
    assert page.evaluate("() => ({}).type") is None


def test_a_configuration_is_copied_and_said(visit: Open) -> None:
    page = found(visit)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    trains = card(page, "Trains")
    trains.get_by_role("button", name="Copy MCP configuration").press("Enter")
    expect(page.locator("p.unseen[role=status]")).to_have_text("Copied")
    copied = json.loads(page.evaluate("() => navigator.clipboard.readText()"))
    entry = copied["mcpServers"]["trains"]
    assert entry == {
        "type": "http",
        "url": "https://mcp.example.org/<tenant>/mcp",
        "headers": {"Authorization": "Bearer <token>"},
    }
    panel = trains.locator(".configuration")
    expect(panel).to_contain_text("<tenant> address, to fill in")
    panel.locator("select").select_option(index=1)
    expect(panel.locator("pre")).to_contain_text("@example/trains@2.1.0")
    panel.get_by_role("button", name="Copy", exact=True).click()
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    assert "npx" in page.evaluate("() => navigator.clipboard.readText()")
    timetable = card(page, "Timetable")
    timetable.get_by_role("button", name="Copy MCP configuration").click()
    expect(timetable.locator(".note")).to_contain_text("names no address, package, image or command")


def test_where_copying_is_not_allowed_the_text_is_selected(visit: Open) -> None:
    page = found(visit)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    trains = card(page, "Trains")
    trains.get_by_role("button", name="Copy MCP configuration").click()
    expect(page.locator("p.unseen[role=status]")).to_contain_text("The text is selected")
    assert json.loads(page.evaluate("() => getSelection().toString()"))["mcpServers"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_in_the_registry(visit: Open, axe: str, width: str, scheme: str) -> None:
    page = found(visit, QUERY, *WIDTHS[width], scheme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    trains = card(page, "Trains")
    trains.get_by_role("button", name="Copy MCP configuration").click()
    expect(trains.locator("pre")).to_contain_text("mcpServers")
    trains.get_by_text("Details and all tools").click()
    expect(trains.locator(".facts")).to_be_visible()
    card(page, "plan-journey").get_by_text("Parameters (6)").click()
    expect(card(page, "plan-journey").locator(".nested table")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert problems(page, axe) == []
    page.screenshot(path=PICTURES / f"registry-{width}-{scheme}.png", full_page=True)
