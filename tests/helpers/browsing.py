"""The page in a browser: a server over a folder, visits, and what tests wait and look for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

START = "import sys; sys.argv[0] = 'watersmeet'; from watersmeet.face.cli.main import main; main()"
Open = Callable[..., Page]


@contextmanager
def serving(folder: Path, environ: dict[str, str], *flags: str) -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", START, "serve", "--port", "0", "--json", *flags],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


@contextmanager
def visiting(browser: Browser, served: str, shows: str = "#welcome h2") -> Iterator[Open]:
    """Open the page; at the end, nothing was complained about and no request had left the machine. `shows`: what is
    there once it has started."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def visit(path: str = "", width: int = 1280, height: int = 860, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(served + path)
        page.wait_for_selector(shows, state="attached")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert asked
    assert {urlsplit(url).hostname for url in asked if not url.startswith("data:")} == {"127.0.0.1"}
    assert complaints == []


def settled(page: Page, wanted: str, parameter: str = "q") -> None:
    """Waits for the answer to the last change: a search writes its parameters into the address when it is sent, and is
    busy until its results are shown. Polled from outside: the page's policy forbids evaluation."""
    state = "(name) => [new URLSearchParams(location.search).get(name), document.querySelector('[aria-busy]') === null]"
    for _ in range(200):
        if page.evaluate(state, parameter) == [wanted, True]:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"no answer to {parameter}={wanted!r}: {page.evaluate(state, parameter)}")


def problems(page: Page, axe: str) -> list[str]:
    """What axe-core calls serious or critical. It is evaluated, not loaded: the page's policy forbids scripts."""
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['impact']} {one['id']}: {one['nodes'][0]['html']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
