"""The page as a person meets it: a real server over a real index, in Chromium.

`scripts/browser.py` brings what these tests need and runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from command import START
from page_library import WEB_PAGES, pages_of, write_library
from serving_command import serving

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
SERVERS = [
    {
        "kind": "mcp_server",
        "path": "/context7",
        "name": "Context7",
        "description": "Up-to-date documentation of software libraries.",
        "tags": ["documentation", "libraries"],
        "tools": [
            {
                "name": "resolve-library-id",
                "description": "Find the id of a library from its name.",
                "schema": {
                    "type": "object",
                    "properties": {"libraryName": {"type": "string", "description": "The library to look for"}},
                    "required": ["libraryName"],
                },
            }
        ],
    },
    {
        "kind": "skill",
        "path": "/skills/changelog",
        "name": "changelog",
        "description": "Write a changelog of a library.",
    },
]

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `watersmeet serve` over the example handbook and two entries of a registry."""
    folder = tmp_path_factory.mktemp("served")
    environ = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    shutil.copytree(ROOT / "examples" / "handbook", folder / "handbook")
    (folder / "handbook" / "odd.md").write_text(
        "---\ntitle: <img src=x onerror=alert(1)>\n---\nA flamingo <script>alert(2)</script> & <b>bold</b>,"
        " invoice \u202efdp.exe\u2066.\n",
        "utf8",
    )
    (folder / "registry.json").write_text(json.dumps(SERVERS), "utf8")
    register = "from watersmeet import Engine; Engine('.watersmeet').registry.register('registry.json', deepen=False)"
    for script in ([START, "sync", "handbook", "--no-deepen", "--quiet"], [register]):
        subprocess.run([sys.executable, "-c", *script], cwd=folder, env=environ, check=True)
    with serving(folder, environ) as address:
        yield address


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server that wants a token, and one that it knows."""
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "notes").mkdir()
    for name in ("tide", "reed"):
        (tmp_path / "notes" / f"{name}.md").write_text(f"# {name}\n", "utf8")
    made = ""
    for words in (["sync", "notes", "--no-vectors", "--quiet"], ["token", "create", "--scope", "read", "--quiet"]):
        made = subprocess.run(
            [sys.executable, "-c", START, *words], cwd=tmp_path, env=environ, check=True, capture_output=True, text=True
        ).stdout
    with serving(tmp_path, environ, "--host", "0.0.0.0") as address:  # noqa: S104 - so that it wants a token
        yield address.replace("0.0.0.0", "127.0.0.1"), made.split()[-1]  # noqa: S104 - as above


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=os.environ["BROWSER"], args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over notes, a PDF, code, mail, pages of a website, and texts that are hostile."""
    folder = tmp_path_factory.mktemp("library")
    environ = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    write_library(folder / "notes")
    with pages_of(WEB_PAGES) as site:
        environ["WATERSMEET__SOURCE__SITE__ALLOWED"] = json.dumps([urlsplit(site).netloc])
        for words in (["notes"], [f"{site}/guide.html"]):
            command = [sys.executable, "-c", START, "sync", *words, "--no-vectors", "--quiet"]
            subprocess.run(command, cwd=folder, env=environ, check=True)
    with serving(folder, environ) as address:
        yield address


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open an address; at the end, nothing was complained about, no script of a text ran, and no request had left."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def opened(address: str, width: int = 1280, height: int = 860, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("dialog", lambda dialog: (complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        page.wait_for_selector("#welcome h2", state="attached")
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("() => window.hit === undefined")
        context.close()
    assert asked
    assert {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:", "chrome"))} == {
        "127.0.0.1"
    }
    assert complaints == []


@pytest.fixture
def visit(opened: Open, served: str) -> Open:
    """Open the page over the handbook."""
    return lambda path="", *rest, **more: opened(served + path, *rest, **more)


@pytest.fixture
def read(opened: Open, library: str) -> Open:
    """Open the page over the library."""
    return lambda path="", *rest, **more: opened(library.rstrip("/") + (path or "/"), *rest, **more)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, to be run inside a page."""
    return Path(os.environ["AXE"]).read_text("utf8")
