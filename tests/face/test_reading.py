"""Routes of the page: searches with snippets, documents for reading, and files that can do no harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from pdf_files import pdf
from serving import Served, served
from watersmeet import Engine
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server
HTML = "<html><main><h1>Heron</h1><p>A heron and enough words.</p><script>alert(1)</script></main></html>"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "a b").mkdir(parents=True)
    (docs / "a b" / "ü#?.md").write_text("# Odd\n\nAn odd **heron** with `code`, see [[note]].\n", "utf8")
    (docs / "note.md").write_text("# Note\n\nA heron <b onclick=x>bold</b>.\n")
    (docs / "hidden.md").write_text("---\n'@audience': ['user:ada']\n---\nA hidden heron.\n")
    (docs / "page.html").write_text(HTML)
    (docs / "report.pdf").write_bytes(pdf([[(12, "Rivers and boats.")], [(12, "A heron on the second page.")]]))
    return docs


@pytest.fixture
def site(engine: Engine, docs: Path) -> Iterator[Served]:
    engine.sync([docs], vectors=False)
    with served(engine) as made:
        yield made


def test_a_search_has_snippets_in_place_of_texts(site: Served) -> None:
    found = site.ask("/page/search", {"query": "heron", "explain": True, "facets": True}).json()
    by_document = {one["document"]: one for one in found["results"]}
    assert "hidden.md" not in by_document
    assert "text" not in found["results"][0]
    assert "why" not in found["results"][0]
    assert found["results"][0]["evidence"]
    assert ["strong", {}, "heron"] in by_document["a b/ü#?.md"]["snippet"][-1]
    assert by_document["report.pdf"]["file"] == "application/pdf"
    assert by_document["report.pdf"]["page"] >= 1
    assert found["facets"]["documents"] == 4
    assert site.ask("/page/search", {"query": "heron", "colour": 1}).status == 422


def test_a_document_is_a_tree(site: Served) -> None:
    found = site.ask(f"/page/document/{quote('a b/ü#?.md')}").json()
    assert found["document"] == "a b/ü#?.md"
    assert ["a", {"document": "note.md"}, "note"] in found["content"][1]
    assert site.ask("/page/document/hidden.md").status == 404
    assert site.ask("/page/document/no.md").status == 404
    assert site.ask("/page/document/note.md?color=1").status == 422
    assert site.ask("/page/document/note.md?chunk=none").json()["chunk"] == ""


def test_the_page_is_at_every_address_of_a_document(site: Served) -> None:
    start = site.ask("/").content
    for path in ("/doc/note.md", "/doc/hidden.md", "/doc/no/such.md", f"/doc/{quote('a b/ü#?.md')}"):
        answer = site.ask(path)
        assert (answer.status, answer.content) == (200, start)  # it tells nothing of the index
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_files_run_nothing(site: Served, docs: Path) -> None:
    report = site.ask("/file/report.pdf")
    assert (report.status, report.headers["Content-Type"]) == (200, "application/pdf")
    assert report.content == (docs / "report.pdf").read_bytes()
    assert report.headers["Content-Disposition"] == "inline; filename*=UTF-8''report.pdf"
    page = site.ask("/file/page.html")
    assert (page.status, page.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    for answer in (report, page):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
    odd = site.ask(f"/file/{quote('a b/ü#?.md')}")
    assert odd.headers["Content-Disposition"] == "inline; filename*=UTF-8''%C3%BC%23%3F.md"


@pytest.mark.parametrize(
    "path", ["hidden.md", "no.md", "../docs/note.md", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "note.md%00"]
)
def test_no_other_file_is_served(site: Served, path: str) -> None:
    assert site.ask(f"/file/{path}").status == 404
    assert site.ask("/file/note.md", Sec_Fetch_Site="cross-site").status == 403


def test_a_changed_file_is_a_conflict(site: Served, docs: Path) -> None:
    (docs / "note.md").write_text("# Other\n")
    answer = site.ask("/file/note.md")
    assert answer.status == 409
    assert "sync" in answer.json()["hint"]


def test_where_a_token_is_needed_the_page_is_open_and_nothing_else(engine: Engine, docs: Path) -> None:
    engine.sync([docs], vectors=False)
    with served(engine, host="0.0.0.0", tokens=Tokens()) as site:  # noqa: S104 - that is the point
        _, right = Tokens().create("read")
        assert site.ask("/doc/note.md").status == 200
        for path in ("/file/note.md", "/page/document/note.md"):
            assert site.ask(path).status == 401
            assert site.ask(path, token=right).status == 200
        assert site.ask("/page/search", {"query": "heron"}).status == 401
        told = site.ask("/page/document/note.md", token=right).json()
        assert told["path"] == "note.md"  # not where it is on the server
