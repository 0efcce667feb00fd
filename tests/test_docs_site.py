"""The site of the documentation: every page is in it, links lead where they should, nothing comes from elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from script_modules import script

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site() -> ModuleType:
    return script("docs_site")


@pytest.fixture(scope="module")
def html(site: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = site.build(tmp_path_factory.mktemp("site") / "site")
    assert isinstance(built, Path)
    return built


def test_the_site_is_whole(site: ModuleType, html: Path) -> None:
    assert [*site.faults(html)] == []
    for page in ("index.html", "how-to/agents/index.html", "decisions/index.html", "architecture/index.html"):
        assert (html / page).is_file(), page


def test_every_page_is_in_the_navigation(site: ModuleType) -> None:
    listed = [path for _, pages in site.navigation() for _, path in pages]
    assert sorted([*listed, "index.md", "contents.md"]) == sorted([*site.pages().values(), "decisions/index.md"])


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("<a href='../nowhere/'>x</a>", "../nowhere/ leads nowhere"),
        ("<a href='#nowhere'>x</a>", "#nowhere has no such anchor"),
        ("<script src='https://cdn.example.org/x.js'></script>", "loads https://cdn.example.org/x.js"),
        ("<link rel='stylesheet' href='//fonts.example.org/x'>", "loads //fonts.example.org/x"),
        ("<img src='https://example.org/x.png'>", "loads https://example.org/x.png"),
    ],
)
def test_a_fault_is_seen(site: ModuleType, html: Path, tmp_path: Path, written: str, seen: str) -> None:
    copy = shutil.copytree(html, tmp_path / "html")
    page = copy / "glossary" / "index.html"
    page.write_text(page.read_text("utf8").replace("</article>", f"{written}</article>"), "utf8")
    assert [*site.faults(copy)] == [f"glossary/index.html: {seen}"]


def test_styles_that_load_fonts_are_seen(site: ModuleType, html: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(html, tmp_path / "html")
    (copy / "site.css").write_text("@font-face { src: url('https://fonts.example.org/x.woff2') }", "utf8")
    assert [*site.faults(copy)] == ["site.css: loads from another machine"]


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("docs/glossary.md", "[a](../ARCHITECTURE.md#three-rules)", "[a](architecture.md#three-rules)"),
        ("docs/how-to/agents.md", "[a](../README.md)", "[a](../contents.md)"),
        ("docs/how-to/agents.md", "[b](../../README.md#try-it)", "[b](../index.md#try-it)"),
        ("README.md", "[a](docs/decisions)", "[a](decisions/index.md)"),
        ("README.md", "[`a.py`](src/a.py)", '<code title="src/a.py">a.py</code>'),
        ("README.md", "![a](docs/pictures/terminal.svg)", "![a](pictures/terminal.svg)"),
        ("README.md", '<img src="docs/pictures/page-light.png">', '<img src="./pictures/page-light.png">'),
        ("README.md", "[a](https://example.org/docs/)", "[a](https://example.org/docs/)"),
        ("README.md", "[b](#try-it)", "[b](index.md#try-it)"),
        ("README.md", r"| `a\|<b>` | `c` |", "| <code>a&#124;&lt;b&gt;</code> | `c` |"),
        ("README.md", "```md\n[a](docs/decisions)\n```\n", "```md\n[a](docs/decisions)\n```\n"),
    ],
)
def test_links_lead_to_the_page_on_the_site(site: ModuleType, page: str, text: str, expected: str) -> None:
    assert site.moved(text, page, site.places()) == expected


def test_a_package_index_gets_a_readme_that_stands_alone() -> None:
    description = script("hatch_build", ".").description
    pictures = "![p](docs/p.svg)\n\n<picture>\n  <img src='x'>\n</picture>\n\n"
    text = f"# A\n\n{pictures}[in](docs/a.md#b) [out](https://example.org) [`c`](src)\n"
    assert description(text) == "# A\n\nin [out](https://example.org) `c`\n"
    assert description("```md\n[in](a.md)\n```\n") == "```md\n[in](a.md)\n```\n"
    whole = description((ROOT / "README.md").read_text("utf8"))
    assert "](docs/" not in whole
    assert "<img" not in whole
