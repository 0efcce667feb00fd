"""Documents on the page: rendered, with links that lead on, at an address, and without anything that runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from hostile_markdown import HOSTILE
from page_actions import ask, settled

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
PICTURES = Path(os.environ.get("PICTURES", "build/pictures"))
FOREIGN = ", ".join(
    "script img iframe object embed svg math video audio style link meta base form input template noscript".split()
)
ATTRIBUTES = """(part) => [...document.querySelectorAll(`${part} *`)]
    .flatMap((one) => [...one.attributes].map((a) => [a.name, a.value]))"""


def shown(page: Page) -> str:
    """Path of the document that the address names."""
    return unquote(urlsplit(page.url).path)


def test_markdown_is_rendered(read: Open) -> None:
    page = read("/doc/rich.md")
    text = page.locator("#detail .text")
    expect(text.locator("strong").first).to_have_text("bold")
    expect(text.locator("mark").first).to_have_text("marked")
    expect(text.locator(".callout.warning .callout-title em")).to_have_text("gap")
    expect(text.locator("details.callout summary")).to_have_text("Folded away")
    expect(text.locator(".task.done")).to_have_attribute("aria-label", "done")
    expect(text.locator("table tbody tr")).to_have_count(2)
    expect(text.locator("pre")).to_contain_text("return x == 1")
    expect(text.locator(".picture")).to_have_text(["A chart", "sketch.png"])
    expect(text).not_to_contain_text("secret comment")
    assert page.locator("#detail img").count() == 0
    assert page.title() == "Rich note · watersmeet"
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, width in (("desktop", 1440), ("tablet", 820), ("phone", 390)):
        page.set_viewport_size({"width": width, "height": 1000})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=PICTURES / f"{name}-{scheme}-20-markdown.png")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_links_lead_to_documents_and_anchors(read: Open) -> None:
    page = read("/doc/rich.md")
    text = page.locator("#detail .text")
    text.get_by_role("link", name="Tides", exact=True).click()
    expect(page.locator("#detail h2")).to_have_text("Tides")
    assert (shown(page), page.title()) == ("/doc/tides.md", "Tides · watersmeet")
    page.go_back()
    expect(page.locator("#detail h2")).to_have_text("Rich note")
    text.get_by_role("link", name="spring tides").click()
    expect(page.locator(".arrived")).to_have_text("Spring tide")
    assert urlsplit(page.url).fragment == "spring-tide"
    expect(page.locator(".arrived")).to_be_in_viewport()
    page.reload()
    expect(page.locator(".arrived")).to_be_in_viewport()
    text.get_by_role("link", name="rich").click()
    text.get_by_role("link", name="a part of this note").click()
    expect(page.locator(".arrived")).to_have_text("The table")
    text.get_by_role("link", name="the code").click()
    expect(page.locator("#detail pre")).to_contain_text("return legs - 1")
    page.go_back()
    expect(page.locator("#detail h2")).to_have_text("Rich note")
    expect(text.locator(".dead")).to_have_text(["Nowhere", "a dead file", "sketch.png"])
    outside = text.get_by_role("link", name="a site")
    assert outside.get_attribute("target") == "_blank"
    assert outside.get_attribute("rel") == "noopener noreferrer"


def test_a_link_opens_in_a_tab_of_its_own_as_well(read: Open) -> None:
    page = read("/doc/rich.md")
    with page.context.expect_page() as other:
        page.locator("#detail .text").get_by_role("link", name="Tides", exact=True).click(modifiers=["ControlOrMeta"])
    expect(other.value.locator("#detail h2")).to_have_text("Tides")
    expect(page.locator("#detail h2")).to_have_text("Rich note")


def test_every_search_and_document_has_an_address(read: Open) -> None:
    page = read()
    ask(page, "pelican")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#passage")).to_contain_text("pelican")
    assert shown(page) == "/doc/rich.md"
    address = page.url
    page.reload()
    expect(page.locator("#passage")).to_contain_text("pelican")
    expect(page.locator(".result.here")).to_contain_text("Rich note")
    assert page.url == address
    page.go_back()
    expect(page.locator("#detail")).to_be_hidden()
    expect(page.locator(".result").first).to_be_visible()
    assert (shown(page), page.title()) == ("/", "pelican · watersmeet")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("spoonbill")
    settled(page, "spoonbill")
    expect(page.locator(".result h2").first).to_contain_text("spoonbill")
    page.go_back()
    settled(page, "pelican")
    assert page.locator("#query").input_value() == "pelican"
    expect(page.locator(".result h2").first).to_contain_text("Rich note")
    page.go_forward()
    settled(page, "spoonbill")
    other = page.context.new_page()
    other.goto(address)  # as it was pasted
    expect(other.locator("#passage")).to_contain_text("pelican")


def test_a_document_that_is_not_there_is_said(browser: Browser, library: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{library.rstrip('/')}/doc/no/such.md")
    expect(page.locator("#detail")).to_contain_text("The document cannot be shown: no document or chunk called")
    context.close()


def test_formats_are_shown_as_what_they_are(read: Open) -> None:
    page = read("/doc/code/heron.py")
    expect(page.locator("#detail pre")).to_have_text(re.compile(r"def heron\(legs\):\n    "))
    page.goto(page.url.replace("code/heron.py", "letter.eml"))
    expect(page.locator("#detail .lines").last).to_contain_text("* <b>is</b> here")


def test_a_pdf_is_opened_at_its_page(read: Open, library: str) -> None:
    page = read("/?q=ibis")
    link = page.locator(".result a.original").first
    expect(link).to_have_text("PDF, page 3")
    assert link.get_attribute("href") == "/file/report.pdf#page=3"
    assert link.get_attribute("rel") == "noopener noreferrer"
    page.locator(".result a.link").first.click()
    expect(page.locator("#original a")).to_have_attribute("href", "/file/report.pdf#page=3")
    file = page.request.get(f"{library.rstrip('/')}/file/report.pdf")
    assert file.headers["content-type"] == "application/pdf"
    assert file.body().startswith(b"%PDF-")


def test_a_web_page_is_opened_at_its_anchor(read: Open) -> None:
    page = read("/?q=cassowary")
    expect(page.locator(".result a.where").first).to_have_attribute("href", re.compile(r"/guide\.html#cassowary$"))
    page.locator(".result a.link").first.click()
    expect(page.locator("#original a")).to_have_attribute("href", re.compile(r"/guide\.html#cassowary$"))
    expect(page.locator("#original a")).to_have_attribute("rel", "noopener noreferrer")


def test_nothing_hostile_runs_loads_or_passes_for_the_page(read: Open) -> None:
    """Each text as a snippet and as a document. `opened` checks that no script ran and no request left."""
    page = read()
    own = page.evaluate("() => document.querySelectorAll('[id]').length")
    for number in range(len(HOSTILE)):
        page.evaluate(
            "(path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }",
            f"/doc/hostile/{number:02}.md?q=zebra{number:02}",
        )
        settled(page, f"zebra{number:02}")
        expect(page.locator("#detail")).to_have_attribute("data-document", f"hostile/{number:02}.md")
        expect(page.locator("#detail .text")).to_contain_text("after it")
        for part in ("#detail-body", "#results"):
            inside = page.locator(part)
            assert inside.locator(FOREIGN).count() == 0, HOSTILE[number]
            found = page.evaluate(ATTRIBUTES, part)
            for name, value in found:
                assert not name.startswith("on"), (HOSTILE[number], name)
                assert name not in (
                    "src",
                    "srcdoc",
                    "srcset",
                    "action",
                    "formaction",
                    "ping",
                    "background",
                    "xlink:href",
                )
                assert name != "style" or re.fullmatch(r"width: [\d.]+%;", value), (HOSTILE[number], value)
                assert name != "href" or re.match(r"/doc/|/file/|https?://|mailto:", value), (HOSTILE[number], value)
                assert name != "id" or value in ("passage",) or value.startswith("at-"), (HOSTILE[number], value)
    assert page.evaluate("() => [window.hit, document.querySelectorAll('#query').length]") == [None, 1]
    assert own > 0


def test_a_link_of_a_hostile_text_runs_nothing_when_it_is_clicked(read: Open) -> None:
    page = read()
    for number, text in enumerate(HOSTILE):
        if "](" not in text and "[[" not in text and "href" not in text:
            continue
        page.goto(re.sub(r"(//[^/]+).*", rf"\1/doc/hostile/{number:02}.md", page.url))
        expect(page.locator("#detail .text")).to_contain_text("after it")
        page.context.set_offline(True)
        for link in page.locator("#detail .text .dead, #detail .text a:not([target])").all():
            link.click()
        page.context.set_offline(False)
        assert page.evaluate("() => window.hit") is None
