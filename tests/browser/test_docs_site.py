"""The site of the documentation in Chromium: it can be read and searched, and asks no other machine for anything."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from script_modules import script

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"": "start", "how-to/obsidian/": "how-to", "reference/settings/": "reference", "comparison/": "comparison"}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site."""
    html = script("docs_site").build(tmp_path_factory.mktemp("site") / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=html)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_pages_fit_and_load_nothing_from_elsewhere(
    browser: Browser, site: str, scheme: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path, name in PAGES.items():
        page.goto(site + path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the window"
        if "PICTURES" in os.environ:
            page.screenshot(path=Path(os.environ["PICTURES"]) / f"site-{name}-{scheme}-{width}.png")
    context.close()
    assert [url for url in requests if not url.startswith((site, "data:"))] == []
    assert errors == []


def test_the_site_has_a_search_that_needs_no_server(browser: Browser, site: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(site, wait_until="networkidle")  # until the script is there, keys are for the page
    box = page.locator("input:focus")
    for _ in range(20):
        page.keyboard.press("Control+k")
        page.wait_for_timeout(250)
        if box.count():
            break
    box.type("robots.txt")
    first = page.get_by_role("option").filter(has_text="robots").first
    expect(first).to_be_visible()
    if "PICTURES" in os.environ:
        page.screenshot(path=Path(os.environ["PICTURES"]) / "site-search.png")
    page.close()
