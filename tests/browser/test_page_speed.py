"""While one types, no task of the page's main thread takes long: in CPU time, whatever else runs on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from command import START
from page_actions import settled
from serving_command import serving

pytestmark = pytest.mark.browser

MOST_MS = 50
QUERY = "how does the heron of the northern estuary find its way"
WORDS = "heron estuary tide salt reed marsh current moon shore ebb northern way find channel wind".split()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over 2,000 chunks with tables, lists and code."""
    folder = tmp_path_factory.mktemp("large")
    environ = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    (folder / "docs").mkdir()
    for number in range(200):
        parts = [f"# Page {number}"]
        for part in range(10):
            said = " ".join(WORDS[(number * 7 + part * 3 + n * (number % 5 + 1)) % len(WORDS)] for n in range(60))
            parts += [f"## Part {part}", f"The {said}. See [[{number // 2}]].", f"- **{said[:40]}**\n- `{said[40:80]}`"]
            parts += [f"| a | b |\n|---|---|\n| {said[:30]} | {said[30:60]} |", f"```\n{said}\n```"]
        (folder / "docs" / f"{number}.md").write_text("\n\n".join(parts), "utf8")
    command = [sys.executable, "-c", START, "sync", "docs", "--no-vectors", "--quiet"]
    subprocess.run(command, cwd=folder, env=environ, check=True)
    with serving(folder, environ) as address:
        yield address


def tasks_ms(trace: bytes) -> list[float]:
    """CPU time of each task of the page's main thread."""
    events = json.loads(trace)["traceEvents"]
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    main = [one for one in events if threads.get((one["pid"], one["tid"])) == "CrRendererMain" and one["ph"] == "X"]
    return [one["tdur"] / 1000 for one in main if one["name"].endswith("RunTask") and "tdur" in one]


def traced(browser: Browser, page: Page, tmp_path: Path) -> None:
    categories = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
    browser.start_tracing(page=page, path=tmp_path / "trace.json", categories=categories)


def test_no_task_is_long_while_one_types(browser: Browser, large: str, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(large)
    page.wait_for_selector("#welcome h2")
    page.locator("#query").focus()
    page.keyboard.type("heron")  # the first search loads what later ones have
    settled(page, "heron")
    page.fill("#query", "")
    settled(page, None)
    traced(browser, page, tmp_path)
    page.keyboard.type(QUERY, delay=130)  # longer than the page waits, so that every letter is a search
    settled(page, QUERY)
    tasks = tasks_ms(browser.stop_tracing())
    expect(page.locator(".result")).to_have_count(20)
    context.close()
    assert len(tasks) > 100
    assert sum(tasks) > 10  # the clock of the thread counts
    assert max(tasks) < MOST_MS
