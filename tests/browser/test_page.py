"""The page by keyboard alone, at every width, in both schemes, and read by a machine that looks for barriers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from page_actions import ask, choose, focused, problems, settled, write

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
PICTURES = Path(os.environ.get("PICTURES", "build/pictures"))
QUERY = "why are my changes slow to arrive?"
WIDTHS = {"desktop": (1440, 900), "tablet": (820, 1100), "phone": (390, 844)}


def test_type_look_explain_filter_and_open_by_keyboard_alone(visit: Open) -> None:
    page = visit()
    ask(page, QUERY)
    results = page.locator(".result")
    assert results.count() >= 5
    assert results.locator("mark").count() > 0
    page.keyboard.press("ArrowDown")
    first = focused(page)
    page.keyboard.press("j")
    second = focused(page)
    assert second != first
    page.keyboard.press("k")
    assert focused(page) == first

    page.keyboard.press("e")
    expect(page.locator("#detail h2")).to_have_text("Why is this result 1?")
    shares = [float(cell.split("=")[-1]) for cell in page.locator("#detail tbody td:nth-child(4)").all_inner_texts()]
    fused = float(re.findall(r"[\d.]+", page.locator("#detail h3").first.inner_text())[0])
    assert len(shares) >= 2
    assert sum(shares) == pytest.approx(fused, abs=1e-3)
    page.keyboard.press("Enter")  # from the explanation to the document, without a way back first
    expect(page.locator("#passage")).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator("#detail h2")).to_have_text("Why is this result 1?")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    assert focused(page) == first

    page.keyboard.press("Enter")
    expect(page.locator("#passage")).to_be_visible()
    assert "passage that was found" in (page.locator("#passage").get_attribute("aria-label") or "")
    page.keyboard.press("Escape")

    page.keyboard.press("x")
    assert focused(page) == "mode"
    page.keyboard.type("lexical")
    settled(page, "lexical", "mode")
    expect(page.locator("#summary")).to_contain_text("lexical")
    page.keyboard.press("Escape")
    assert focused(page) == "query"
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("f")
    expect(page.locator("[data-facet=kind]")).to_have_attribute("open", "")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[data-facet=tag]")).to_have_attribute("open", "")
    page.locator("#tag").focus()
    page.keyboard.type("operations")
    page.keyboard.press("Enter")
    settled(page, "operations", "tag")
    expect(page.locator("#chosen button").first).to_have_text("#operations ×")
    for where in page.locator(".result .where").all_inner_texts():
        assert re.match(r"(operations|installation|configuration|reference|getting)", where), where
    page.keyboard.press("Escape")
    assert "Tag" in focused(page)
    page.keyboard.press("Escape")
    assert focused(page) == "query"


def test_an_answer_with_citations_that_lead_to_results(visit: Open) -> None:
    page = visit()
    ask(page, "how do I invite people?")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("a")
    answer = page.locator("#answer")
    expect(answer).to_contain_text("Quoted from the documents")
    cite = answer.locator("button.cite").first
    expect(cite).to_have_text(re.compile(r"\[\d+\]"))
    cite.click()
    expect(page.locator("#detail")).to_be_visible()
    page.screenshot(path=str(PICTURES / "answer.png"))
    page.keyboard.press("Escape")
    write(page, " again")
    expect(answer).to_be_hidden()


def test_citations_that_were_not_confirmed_are_marked(visit: Open) -> None:
    page = visit()
    told = {
        "answer": "Checked [1]. Not so <b>sure</b> [2?]. As \\[3] says.",
        "citations": [
            {"n": 1, "id": "", "document": "a.md", "where": "", "quote": "", "checked": True},
            {"n": 2, "id": "x", "document": "b.md", "where": ":3", "quote": "", "checked": False},
        ],
        "statements": [{"text": "Not so sure", "citations": [2], "checked": False, "reason": ""}],
        "supported": False,
        "model": "tiny",
    }
    events = f"event: text\ndata: {json.dumps({'text': 'Checked [1].'})}\n\nevent: answer\ndata: {json.dumps(told)}\n\n"
    page.route("**/api/chat", lambda route: route.fulfill(content_type="text/event-stream", body=events))
    ask(page, "invite people")
    page.locator("#get-answer").click()
    answer = page.locator("#answer")
    expect(answer).to_contain_text("Not every statement is supported by what it cites: [2?]")
    expect(answer).to_contain_text("By tiny")
    expect(answer).to_contain_text("As [3] says.")
    assert answer.locator(".unchecked").all_inner_texts() == ["[2?]"]
    assert answer.locator(".cite").count() == 2
    assert answer.locator("b").count() == 0


def test_where_a_result_is_stands_behind_its_name(visit: Open) -> None:
    page = visit()
    ask(page, QUERY)
    assert re.fullmatch(r"[\w/-]+\.md:\d+", page.locator(".result .where").first.inner_text())
    ask(page, "resolve-library-id")
    tool = page.locator(".result .where").first
    expect(tool).to_have_text("/context7#resolve-library-id")  # it has no lines

    def on_page_three(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        found["results"][0] |= {"where": "p. 3", "lines": None}
        route.fulfill(response=answer, json=found)

    page.route("**/page/search", on_page_three)
    ask(page, "backup")
    shown = page.locator(".result .where").first
    expect(shown).to_have_text(re.compile(r"\.md p\. 3$"))


def test_explain_of_a_link_shows_the_path(visit: Open) -> None:
    page = visit("?recipe=notes")
    ask(page, "WebSocket upgrades")
    page.keyboard.press("ArrowDown")
    for _ in range(page.locator(".result").count()):
        page.keyboard.press("e")
        if page.locator(".track").count():
            break
        page.keyboard.press("Escape")
        page.keyboard.press("j")
    assert page.locator(".track .stop").count() >= 2


def test_what_is_typed_last_is_what_is_shown(visit: Open) -> None:
    page = visit()
    page.keyboard.type("back up the server before an upgrade", delay=15)
    settled(page, "back up the server before an upgrade")
    expect(page.locator(".result h2").first).to_contain_text(re.compile("back ?up|upgrade", re.IGNORECASE))


def test_a_link_to_a_search_brings_it_back(visit: Open) -> None:
    page = visit("?q=TRN-1042&mode=lexical&kind=document&tag=reference")
    expect(page.locator("#summary")).to_contain_text("lexical")
    assert page.locator("#query").input_value() == "TRN-1042"
    chips = page.locator("#chosen button").all_inner_texts()
    assert chips == ["Kind: document ×", "#reference ×", "mode: lexical ×"]
    assert page.title() == "TRN-1042 · watersmeet"


@pytest.mark.parametrize("query", ["TRN-1042", "--no-telemetry", "C++ / a|b (c)", "v1.2.3", "#help", "\\d+", "..."])
def test_any_text_can_be_asked(visit: Open, query: str) -> None:
    page = visit()
    page.fill("#query", query)
    expect(page.locator("#summary")).to_contain_text(re.compile("result|Nothing found"))
    expect(page.locator("#notes")).not_to_contain_text("failed")


def test_dates_narrow(visit: Open) -> None:
    page = visit()
    ask(page, "sync")
    many = page.locator(".result").count()
    page.locator("[data-facet=since] summary").click()
    page.fill("#before", "2024-09-30")
    page.keyboard.press("Tab")
    expect(page.locator(".result")).not_to_have_count(many)
    expect(page.locator("#chosen button")).to_have_text("before: 2024-09-30 ×")


def test_text_of_a_document_is_text(visit: Open) -> None:
    page = visit()
    ask(page, "flamingo")
    expect(page.locator(".result").first).to_contain_text("invoice \\u202efdp.exe\\u2066")  # shown, not obeyed
    expect(page.locator(".result h2").first).to_have_text("<img src=x onerror=alert(1)>")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#passage")).to_contain_text("<script>alert(2)</script> & bold")
    assert page.locator("#detail img, #detail script").count() == 0
    expect(page.locator("#passage b")).to_have_text("bold")


def test_nothing_found_and_an_error_are_said(visit: Open) -> None:
    page = visit("?mode=lexical")
    write(page, "zzyzx")
    expect(page.locator("#summary")).to_contain_text("Nothing found")
    page.locator("[data-facet=since] summary").click()
    page.fill("#since", "2999-01-01")
    page.fill("#query", "sync")
    expect(page.locator("#summary")).to_contain_text("Nothing found")


def test_help_index_and_theme(visit: Open) -> None:
    page = visit()
    page.keyboard.press("Escape")
    page.locator("#open-keys").focus()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("#open-index").press("Enter")
    expect(page.locator("#index-body")).to_contain_text("lexical")
    expect(page.locator("#index-body")).to_contain_text("100 %")
    expect(page.locator("#index-body")).to_contain_text("Calibration")
    expect(page.locator("#index-body")).to_contain_text(re.compile(r"Sources.*read (just now|\d+ minutes? ago)"))
    page.keyboard.press("Escape")
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.locator("#theme").press("Enter")
    page.locator("#theme").press("Enter")
    assert page.evaluate(paper) != light
    page.reload()
    assert page.evaluate(paper) != light


def test_a_token_that_is_refused_is_said_where_one_is_asked_for(browser: Browser, guarded: tuple[str, str]) -> None:
    address, token = guarded
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(address)
    dialog = page.locator("#access")
    expect(dialog).to_be_visible()
    expect(page.locator("#access-reason")).to_be_hidden()
    for wrong in ("wrong", token[:-1]):
        page.fill("#token", wrong)
        page.keyboard.press("Enter")
        expect(page.locator("#access-reason")).to_contain_text("The token was refused")
        expect(dialog).to_be_visible()
    page.fill("#token", token)
    page.keyboard.press("Enter")
    expect(page.locator("#welcome h2")).to_contain_text("documents")
    expect(dialog).to_be_hidden()
    context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_and_no_sideways_scrolling(visit: Open, axe: str, width: str, scheme: str) -> None:
    page = visit("", *WIDTHS[width], scheme)
    PICTURES.mkdir(parents=True, exist_ok=True)

    def look(name: str) -> None:
        page.screenshot(path=PICTURES / f"{width}-{scheme}-{name}.png")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"
        assert problems(page, axe) == [], name

    look("1-start")
    ask(page, QUERY)
    look("2-results")
    page.locator(".from-page").first.click()
    look("3-more-from-a-page")
    page.locator(".link").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#passage")
    look("4-document")
    page.keyboard.press("e")
    page.wait_for_selector(".stack")
    look("5-explain")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#answer")).to_contain_text("Quoted from the documents")
    look("6-answer")
    page.keyboard.press("?")
    look("7-help")
    page.keyboard.press("Escape")
    page.locator("#open-index").press("Enter")
    page.wait_for_selector("#index-body table")
    look("8-index")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    look("9-expert")
    page.locator("#open-expert").press("Enter")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("f")
    look("10-filters")
    page.keyboard.press("Escape")
    choose(page, "tag", "operations")
    settled(page, "operations", "tag")
    page.keyboard.press("Escape")
    look("11-filtered")
    page.locator("#chosen button").click()
    settled(page, None, "tag")
    page.locator("[data-scope=registry]").press("Enter")
    page.fill("#query", "documentation of a library")
    page.wait_for_selector(".card details")
    page.evaluate("() => document.querySelectorAll('.card details').forEach((one) => { one.open = true; })")
    look("12-registry")


def test_with_a_token_documents_and_files_open_too(browser: Browser, guarded: tuple[str, str]) -> None:
    address, token = guarded
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{address.rstrip('/')}/doc/tide.md")
    page.fill("#token", token)
    page.keyboard.press("Enter")
    expect(page.locator("#detail h2")).to_have_text("tide")
    with context.expect_page() as other:
        page.locator("#original a").click()
    assert other.value.url.startswith("blob:")
    expect(other.value.locator("body")).to_have_text("# tide")
    context.close()
