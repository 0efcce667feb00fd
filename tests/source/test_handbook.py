"""The example folder: the README and other tests rely on what it says, and on what it does not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from trees import scan
from watersmeet.core.indexing import Found

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
WIKILINK = re.compile(r"\[\[([^\]|#]+)(?:#([^\]|]+))?(?:\|[^\]]+)?\]\]")
LINK = re.compile(r"(?<!\])\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    items = scan(str(HANDBOOK))
    assert all(isinstance(item, Found) for item in items)
    return {item.name: Path(item.uri).read_text("utf-8") for item in items if isinstance(item, Found)}


def headings(text: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE))


def test_it_is_small_but_not_a_toy(pages: dict[str, str]) -> None:
    assert 18 <= len(pages) <= 30
    assert all(10 <= text.count("\n") <= 60 for text in pages.values())


def test_every_wikilink_leads_to_one_page_and_a_heading_of_it(pages: dict[str, str]) -> None:
    count = 0
    for name, text in pages.items():
        for target, heading in WIKILINK.findall(text):
            (page,) = [other for other in pages if other.removesuffix(".md").rsplit("/", 1)[-1] == target]
            assert not heading or heading in headings(pages[page]), (name, target, heading)
            count += 1
    assert count > 40


def test_every_relative_link_leads_to_a_page(pages: dict[str, str]) -> None:
    count = 0
    for name, text in pages.items():
        for target in LINK.findall(FENCE.sub("", text)):
            path = target.split("#")[0]
            assert os.path.normpath(os.path.join(os.path.dirname(name), path)) in pages, (name, target)
            count += 1
    assert count >= 4


def test_logging_on_is_called_signing_in_throughout(pages: dict[str, str]) -> None:
    """So that "how do I log on?" shows what meaning finds and words do not."""
    assert {name for name, text in pages.items() if re.search(r"\blog", text, re.IGNORECASE)} == {
        "operations/logging.md"
    }
    assert not any(re.search(r"\blog ?[io]n\b", text, re.IGNORECASE) for text in pages.values())
    assert all(word in pages["accounts/sign-in.md"] for word in ("Sign in", "credentials", "session"))


@pytest.mark.parametrize(
    ("identifier", "page"),
    [
        ("TERN_MAX_UPLOAD_MB", "configuration/settings.md"),
        ("TRN-2019", "reference/error-codes.md"),
        ("get_user_by_id", "reference/api.md"),
        ("listNotes", "reference/api.md"),
        ("v1.2.3", "reference/release-notes.md"),
        ("tern_journal_lag_seconds", "operations/monitoring.md"),
        ("/etc/apt/keyrings", "install/linux.md"),
    ],
)
def test_some_identifiers_stand_on_one_page_only(pages: dict[str, str], identifier: str, page: str) -> None:
    assert [name for name, text in pages.items() if identifier in text] == [page]


def test_fences_hold_lines_that_only_look_like_headings(pages: dict[str, str]) -> None:
    tricky = [name for name, text in pages.items() if re.search(r"^\s*# not a heading", text, re.MULTILINE)]
    assert len(tricky) >= 3
    assert not any("not a heading" in heading for text in pages.values() for heading in headings(text))
