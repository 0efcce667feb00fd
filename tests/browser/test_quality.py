"""The page on quality: what was measured and learned, for the owner; figures of others stay where they are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from command import START
from page_actions import problems
from serving_command import serving

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
ROOT = Path(__file__).resolve().parents[2]
PICTURES = Path(os.environ.get("PICTURES", "build/pictures"))
WIDTHS = {"phone": (390, 844), "tablet": (820, 1100), "desktop": (1440, 900)}
READY = "#quality-body h3"
JUDGED = {
    "how do I ask somebody to join": "accounts/invite-people.md",
    "files were changed in two places": "sync/conflicts.md",
    "bring everything back after a crash": "operations/backup-and-restore.md",
}


@contextmanager
def measured(folder: Path, *commands: list[str]) -> Iterator[tuple[Path, dict[str, str]]]:
    environ = {
        **os.environ,
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    shutil.copytree(ROOT / "examples" / "handbook", folder / "handbook")
    for words in (["sync", "handbook", "--no-deepen"], *commands):
        subprocess.run([sys.executable, "-c", START, *words, "--quiet"], cwd=folder, env=environ, check=True)
    yield folder, environ


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over an index that was measured and has learned."""
    folder = tmp_path_factory.mktemp("taught")
    lines = [{"query": query, "document": document, "relevance": 1} for query, document in JUDGED.items()]
    (folder / "judged.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf8")
    commands = (["eval", "--from-corpus", "--queries", "30"], ["calibrate", "--judgements", "judged.jsonl"])
    with measured(folder, *commands) as (place, environ), serving(place, environ) as address:
        yield address


@pytest.fixture
def visit(opened: Open, taught: str) -> Open:
    """Open the page on quality of what was taught."""
    return lambda *rest: quality_page(opened, taught, *rest)


def quality_page(opened: Open, address: str, *rest: Any) -> Page:
    page = opened(address, *rest)
    page.goto(f"{address}quality")
    expect(page.locator(READY).first).to_be_visible()
    return page


def test_it_shows_what_was_measured_and_how(visit: Open) -> None:
    page = visit()
    expect(page).to_have_title("Quality · watersmeet")
    body = page.locator("#quality-body")
    expect(body).to_contain_text("30 queries (the index itself), recipe default, mode hybrid")
    expect(body.locator("pre").first).to_have_text("watersmeet eval --from-corpus --queries 30")
    tiles = body.locator(".tiles")
    expect(tiles).to_contain_text(re.compile(r"the right document is first \(hit@1\)"))
    expect(tiles).to_contain_text(re.compile(r"95 % interval 0\.\d\d to [01]\.\d\d"))
    signals = body.locator(".figures").first
    for name in ("fused", "lexical", "exact", "static"):
        expect(signals.locator("th", has_text=re.compile(f"^{name}$"))).to_be_visible()
    assert signals.locator(".interval").count() >= 4
    classes = body.locator(".figures").nth(1)
    expect(classes).to_contain_text(re.compile(r"title \(\d+\)"))
    assert classes.locator(".interval").count() >= 5


def test_it_shows_what_was_learned_and_how_to_undo_it(visit: Open) -> None:
    page = visit()
    body = page.locator("#quality-body")
    expect(body).to_contain_text(re.compile(r"adjusted after \d judged quer(y|ies) and 0 opened results"))
    expect(body).to_contain_text("[calibration] learn = false")
    weights = body.locator(".weights").first
    before, after = (
        [int(cell.split()[0]) for cell in weights.locator(f"tbody td:nth-child({n})").all_inner_texts()] for n in (2, 3)
    )
    assert sum(before) == pytest.approx(100, abs=2)
    assert sum(after) == pytest.approx(100, abs=2)
    assert weights.locator(".before .bar").count() == len(before)
    expect(body.locator("pre", has_text="calibrate --reset --index")).to_be_visible()


def test_one_comes_there_from_the_index_and_back_by_a_search(visit: Open, taught: str) -> None:
    page = visit()
    page.goto(taught)
    page.locator("#open-index").press("Enter")
    page.locator("#open-quality").press("Enter")
    expect(page).to_have_url(f"{taught}quality")
    expect(page.locator(READY).first).to_be_visible()
    page.fill("#query", "invite people")
    page.keyboard.press("Enter")
    expect(page.locator(".result").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?q=invite"))
    page.go_back()
    expect(page.locator(READY).first).to_be_visible()


def test_without_a_measurement_it_says_how_to_make_one(opened: Open, tmp_path: Path) -> None:
    with (
        measured(tmp_path) as (folder, environ),
        serving(folder, environ) as address,
    ):
        page = quality_page(opened, address)
        body = page.locator("#quality-body")
        expect(body).to_contain_text("Nothing yet. This makes queries from the documents themselves")
        expect(body.locator("pre").first).to_contain_text("watersmeet eval --from-corpus --index ")
        expect(body).to_contain_text("Nothing yet: the weights are those of the recipe.")
        expect(body.locator("pre").nth(1)).to_contain_text("watersmeet calibrate --judgements FILE")
        copy_first(page)


def copy_first(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".copyable button").first.press("Enter")
    expect(page.locator("p.unseen[role=status]")).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == page.locator(".copyable pre").first.inner_text()


def test_who_has_a_token_sees_no_query(opened: Open, tmp_path: Path) -> None:
    with (
        measured(tmp_path, ["eval", "--from-corpus", "--queries", "10"], ["token", "create"]) as (folder, environ),
        serving(folder, environ) as address,
    ):
        page = quality_page(opened, address)
        expect(page.locator("#quality-body")).to_contain_text("shown to the owner of the index")
        expect(page.locator("#quality-body .figures")).to_have_count(0)
        expect(page.locator("#quality-body")).to_contain_text("What use has taught")
        assert str(folder) not in page.locator("#quality-body").inner_text()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_on_it(visit: Open, axe: str, width: str, scheme: str) -> None:
    page = visit(*WIDTHS[width], scheme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert problems(page, axe) == []
    page.screenshot(path=PICTURES / f"quality-{width}-{scheme}.png", full_page=True)
