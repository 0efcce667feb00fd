"""Finding on the page: groups, further results, filters with counts, recent searches, answers, plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from page_actions import ask, choose, focused, settled, write

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


def names(page: Page) -> list[str]:
    return page.locator(".result .where").all_inner_texts()


def test_results_of_one_document_are_together(read: Open) -> None:
    page = read()
    ask(page, "avocet")
    expect(page.locator(".document")).to_have_count(1)
    more = page.locator(".from-page")
    expect(more).to_have_text(re.compile(r"More from this page \(\d\)"))
    expect(more).to_have_attribute("aria-expanded", "false")
    assert page.locator(".result:visible").count() == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("m")
    expect(more).to_have_attribute("aria-expanded", "true")
    every = page.locator(".result:visible").count()
    assert every >= 3
    expect(page.locator("#summary")).to_contain_text(f"{every} results in 1 document")
    page.keyboard.press("j")
    expect(page.locator(".rest .result").first).to_have_class(re.compile("here"))
    page.keyboard.press("m")
    assert page.locator(".result:visible").count() == 1


def test_there_is_more_than_twenty(read: Open) -> None:
    page = read()
    ask(page, "seagull")
    expect(page.locator(".result")).to_have_count(20)
    first = names(page)
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("n")
    expect(page.locator(".result")).to_have_count(40)
    assert names(page)[:20] == first
    page.locator("#show-more").click()
    expect(page.locator(".result")).to_have_count(60)
    assert len(set(names(page))) == 60
    page.locator("#show-more").click()  # there are exactly 60
    expect(page.locator("#show-more")).to_be_hidden()
    expect(page.locator("#summary")).to_contain_text("60 results in 60 documents")


def test_filters_have_counts_and_are_shown_as_chips(read: Open) -> None:
    page = read()
    ask(page, "seagull")
    page.locator("[data-facet=tag] summary").click()
    values = page.locator("[data-facet=tag] .value")
    expect(values.first).to_have_text(re.compile(r"(sea|shore|sky) 20 documents"))
    choose(page, "tag", "sky")
    settled(page, "sky", "tag")
    expect(page.locator(".result")).to_have_count(20)
    expect(page.locator("#chosen button")).to_have_text("#sky ×")
    expect(page.locator("[data-facet=tag] [data-value=sky]")).to_have_attribute("aria-pressed", "true")
    assert all(int(re.findall(r"(\d+)\.md", name)[0]) % 3 == 2 for name in names(page))
    choose(page, "tag", "sky")
    settled(page, None, "tag")
    expect(page.locator("#chosen button")).to_have_count(0)
    page.keyboard.press("Escape")
    choose(page, "kind", "document")
    settled(page, "document", "kind")
    page.reload()
    expect(page.locator("#chosen button")).to_have_text("Kind: document ×")
    page.locator("#chosen button").click()
    settled(page, None, "kind")
    page.go_back()
    settled(page, "document", "kind")
    ask(page, "tides")
    page.locator("[data-facet=since] summary").click()
    choose(page, "since", "7d")
    settled(page, "7d", "since")
    expect(page.locator("#chosen button").last).to_have_text("last 7 days ×")
    assert not [name for name in names(page) if name.startswith("tides.md")]  # it is of 2020


def test_a_menu_closes_when_one_goes_elsewhere(read: Open) -> None:
    page = read("/?q=seagull")
    expect(page.locator(".result").first).to_be_visible()
    page.locator("[data-facet=tag] summary").click()
    page.locator("[data-facet=kind] summary").click()
    expect(page.locator("[data-facet=tag]")).not_to_have_attribute("open", "")
    page.locator("#summary").click()
    expect(page.locator("[data-facet=kind]")).not_to_have_attribute("open", "")


def test_recent_searches_stay_here_and_can_be_cleared(read: Open) -> None:
    page = read()
    ask(page, "seagull")
    page.keyboard.press("Enter")
    ask(page, "pelican")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_be_visible()
    page.locator("#home").click()
    expect(page.locator("#recent li")).to_have_text(["pelican", "seagull"])
    page.locator("#recent a", has_text="seagull").click()
    expect(page.locator(".result").first).to_be_visible()
    assert "q=seagull" in page.url
    page.locator("#home").click()
    page.locator("#forget").click()
    expect(page.locator("#recent")).to_be_hidden()
    ask(page, "avocet")
    page.keyboard.press("Enter")
    page.locator("#home").click()
    page.locator("#keep-recent").click()
    expect(page.locator("#recent")).to_contain_text("not kept")
    ask(page, "avocet")
    page.keyboard.press("Enter")
    page.locator("#home").click()
    expect(page.locator("#recent li")).to_have_count(0)
    assert page.evaluate("() => localStorage.getItem('recent-searches')") is None
    page.locator("#keep-recent").click()
    assert page.evaluate("() => localStorage.getItem('recent-searches-off')") is None


def test_expert_controls_are_behind_one_button(read: Open) -> None:
    page = read()
    for control in ("#mode", "#recipe", "#min_score", "#strict"):
        expect(page.locator(control)).to_be_hidden()
    ask(page, "seagull")
    expect(page.locator("#summary .for-experts")).to_be_hidden()
    page.locator("#open-expert").click()
    for control in ("#mode", "#recipe", "#min_score", "#strict"):
        expect(page.locator(control)).to_be_visible()
    expect(page.locator("#summary")).to_contain_text("ms, confidence")
    page.locator("#open-expert").click()
    expect(page.locator("#mode")).to_be_hidden()
    page.goto(page.url + "&mode=lexical")  # an address that sets one opens them
    expect(page.locator("#mode")).to_be_visible()


def test_confidence_is_said_in_words(visit: Open) -> None:
    page = visit()
    ask(page, "back up the server")
    expect(page.locator("#summary")).to_contain_text(re.compile("a (sure|likely) match"))
    expect(page.locator(".score").first).to_be_visible()
    ask(page, "quarterly revenue of a pineapple plantation on the moon")
    expect(page.locator("#summary")).to_contain_text("Nothing fits this well. The nearest:")
    assert page.locator(".score:visible").count() == 0
    expect(page.locator("#notes")).not_to_contain_text("no good match")


def test_an_answer_grows_and_can_be_asked_on(visit: Open) -> None:
    page = visit()
    ask(page, "how do I invite people?")
    page.locator("#get-answer").click()
    answer = page.locator("#answer")
    expect(answer).to_contain_text("Quoted from the documents")
    answer.locator("button.cite").first.click()
    expect(page.locator("#passage")).to_be_visible()
    page.keyboard.press("Escape")
    asked: list[dict[str, str]] = []
    page.on("request", lambda one: asked.append(one.post_data_json) if one.url.endswith("/api/chat") else None)
    page.fill("#follow-up", "and how do I remove one?")
    page.keyboard.press("Enter")
    expect(answer.locator(".question")).to_have_text("and how do I remove one?")
    expect(answer.locator(".turn")).to_have_count(2)
    expect(answer.locator(".turn").last).to_contain_text(re.compile(r"\w{3}"))
    assert asked[0]["question"] == "and how do I remove one?"
    assert re.fullmatch(r"[0-9a-f]{24}", asked[0]["conversation_id"])
    page.locator("#close-answer").click()
    expect(answer).to_be_hidden()
    assert focused(page) == "get-answer"


def test_a_citation_opens_its_passage_even_if_it_is_not_listed(visit: Open) -> None:
    page = visit()
    ask(page, "how do I invite people?")
    other = page.request.post(
        re.sub(r"(//[^/]+).*", r"\1/api/search", page.url), data={"query": "WebSocket upgrades", "top_n": 1}
    ).json()["results"][0]
    cited = {
        "n": 1,
        "id": other["id"],
        "document": other["document"],
        "where": other["where"],
        "checked": True,
        "quote": "",
    }
    told = {"answer": "So it is [1].", "citations": [cited], "statements": [], "supported": True, "model": "tiny"}

    def reply(route: Route) -> None:
        route.fulfill(content_type="text/event-stream", body=f"event: answer\ndata: {json.dumps(told)}\n\n")

    page.route("**/api/chat", reply)
    page.locator("#get-answer").click()
    page.locator("button.cite").click()
    expect(page.locator("#passage")).to_be_visible()
    assert urlsplit(page.url).path == f"/doc/{other['document']}"


def test_every_key_of_the_help_does_something(read: Open) -> None:
    page = read()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("?")
    keys = page.locator("#keys kbd").all_inner_texts()
    script = page.request.get(
        re.findall(r'"(/web/[^"]+/keys\.js)"', page.content())[0].join((page.url.rstrip("/"), ""))
    ).text()
    for key in keys:
        wanted = {"↓": "ArrowDown", "↑": "ArrowUp", "Esc": "Escape"}.get(key, key)
        assert re.search(rf'(?:"{re.escape(wanted)}"|\b{re.escape(wanted)}:)', script), key
    bound = set(re.findall(r"^    (\w|\"[/?]\"|Enter)(?=:|,)", script, re.MULTILINE))
    assert {one.strip('"') for one in bound} <= set(keys)


def test_typing_does_not_fill_the_history(read: Open) -> None:
    page = read()
    before = page.evaluate("() => history.length")
    write(page, "seagull number")
    settled(page, "seagull number")
    assert page.evaluate("() => history.length") - before <= 1
