"""Websites in an index: what is found by a search, kept, removed, and never opened."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pages import Answer, Website, moved, page, sitemap, website
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import Progress
from watersmeet.face.index_writes import SyncParams, sync
from watersmeet.face.service import Service
from watersmeet.source import _fetcher


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Website]:
    monkeypatch.setattr(_fetcher, "BACKOFF_SECONDS", 0.0)
    with website() as site:
        site.pages |= {
            "/docs/": page("Home", "auk", "tern"),
            "/docs/auk": page("Auk", text="An auk dives for capelin."),
            "/docs/tern": page("Tern", text="A tern crosses the ocean."),
        }
        yield site


def engine(web: Website, tmp_path: Path, **options: Any) -> Engine:
    flags = {
        "source": {"site": {"allowed": [web.host], "rate": 0.0, **options}},
        "index": {"vectors": False, "refresh": "always"},
    }
    return Engine(str(tmp_path / "index"), load(flags=flags))


def listed(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


def found(engine: Engine, query: str) -> list[tuple[str, str]]:
    from watersmeet.core.model import Request

    answer = engine.search(Request(query))
    return [(result.document, result.path) for result in answer.results]


def test_pages_are_found_at_their_addresses(web: Website, tmp_path: Path) -> None:
    web.pages["/docs/auk"] = Answer(
        b"<title>Auk</title><nav>Sidebar zebra</nav><main><h1>Auk</h1><h2 id=diet>Diet</h2><p>capelin</p></main>"
    )
    with engine(web, tmp_path) as index:
        report = index.sync([f"{web.url}/docs"])
        assert (report.added, report.skipped, report.warnings) == (3, [], [])
        assert [note.reason for note in report.notes] == ["pages are those that links below its path lead to"]
        assert listed(index) == {"index", "auk", "tern"}
        assert found(index, "capelin")[0] == ("auk", f"{web.url}/docs/auk")
        assert found(index, "zebra") == []  # navigation is left out
        assert found(index, "sitewide") == []
        again = index.sync(now=True)
        assert (again.unchanged, again.added, again.changed) == (3, 0, 0)


def test_a_page_is_removed_after_two_syncs_without_it(web: Website, tmp_path: Path) -> None:
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
        del web.pages["/docs/auk"]
        assert index.sync(now=True).removed == 0
        assert listed(index) == {"index", "auk", "tern"}
        assert index.sync(now=True).removed == 1
        assert listed(index) == {"index", "tern"}


def test_one_miss_is_forgiven_if_the_page_comes_back(web: Website, tmp_path: Path) -> None:
    auk = web.pages["/docs/auk"]
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
        for _ in range(2):
            del web.pages["/docs/auk"]
            assert index.sync(now=True).removed == 0
            web.pages["/docs/auk"] = auk
            assert index.sync(now=True).removed == 0
        assert "auk" in listed(index)


def test_an_outage_removes_nothing(web: Website, tmp_path: Path) -> None:
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
        pages = dict(web.pages)
        for status in (500, 503):
            web.pages = dict.fromkeys(pages, Answer(b"", status))
            for _ in range(3):
                report = index.sync(now=True)
                assert (report.removed, len(report.warnings)) == (0, 1)
        web.pages = {**dict.fromkeys(pages, Answer(b"", 500)), "/docs/": pages["/docs/"]}
        report = index.sync(now=True)
        assert (report.removed, report.unchanged, len(report.skipped)) == (0, 3, 2)
        web.pages = {"/robots.txt": Answer(b"", 503), **pages}
        assert "robots.txt" in index.sync(now=True).warnings[0].reason
        assert listed(index) == {"index", "auk", "tern"}


def test_the_limit_of_pages_is_remembered(web: Website, tmp_path: Path) -> None:
    with engine(web, tmp_path) as index:
        report = index.sync([f"{web.url}/docs/"], max_pages=2)
        assert (report.added, report.documents) == (2, 2)
        assert "stopped after 2 pages (--max-pages)" in report.warnings[0].reason
        report = index.sync(now=True)
        assert report.documents == 2
        assert "stopped after 2 pages" in report.warnings[0].reason
        assert index.sync([f"{web.url}/docs/"]).documents == 2
        assert index.sync(recreate=True).documents == 2
        assert index.sync(now=True).documents == 2
        assert index.sync([f"{web.url}/docs/"], max_pages=10).documents == 3
        assert index.sync(now=True).warnings == []


def test_a_site_that_was_read_up_to_its_limit_is_fresh(web: Website, tmp_path: Path) -> None:
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"], max_pages=2)
    settings = load(
        flags={"source": {"site": {"allowed": [web.host], "rate": 0.0}}, "index": {"vectors": False, "refresh": "1d"}}
    )
    web.forget()
    with Engine(str(tmp_path / "index"), settings) as index:
        report = index.sync()
        assert (report.fresh, report.unchanged, web.paths) == ([f"{web.url}/docs/"], 2, [])
        (root,) = index.status()["sources"]
        assert root["synced"]
        assert "stopped after 2 pages" in root["problem"]
        assert (
            index.sync(recreate=True, max_pages=2).documents == 2
        )  # a limit is no failure, for which it would be refused
        web.pages = {path: Answer(b"", 503) for path in web.pages}
        assert index.sync(now=True).removed == 0


def test_pages_of_two_sites_and_a_folder_are_told_apart(web: Website, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "auk.md").write_text("# Auk\n\nMine.\n")
    web.pages["/other/"] = page("Other")
    with engine(web, tmp_path) as index:
        index.sync([str(tmp_path / "notes")])
        index.sync([f"{web.url}/docs/", f"{web.url}/other/"])
        name = web.host.replace(":", "-")
        assert listed(index) == {"auk.md", *(f"{name}-docs/{page}" for page in ("index", "auk", "tern"))} | {
            f"{name}-other/index"
        }


def test_a_page_of_a_site_in_the_index_is_warned_of(web: Website, tmp_path: Path) -> None:
    web.pages["/docs/one.html"] = page("One")
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
        report = index.sync([f"{web.url}/docs/one.html"])
        assert [(one.path, f"below {web.url}/docs/," in one.reason) for one in report.warnings] == [
            (f"{web.url}/docs/one.html", True)
        ]
        assert index.sync(now=True).warnings == []


def test_progress_says_what_is_left(web: Website, tmp_path: Path) -> None:
    steps: list[Progress] = []
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"], progress=steps.append)
        fetching = [(step.done, step.total, step.unit) for step in steps if step.doing == "fetching"]
        assert (1, 3, "pages") in fetching
        assert (2, 3, "pages") in fetching


def test_a_site_that_cannot_be_read_is_an_error(web: Website, tmp_path: Path) -> None:
    with engine(web, tmp_path) as index:
        for path, reason in (("/nothing/", "404"), ("/docs/none.md", "404")):
            with pytest.raises(SourceProblem, match=reason):
                index.sync([web.url + path])
        assert not index.index.exists() or index.status()["roots"] == []


def test_without_protego_a_site_with_rules_is_not_read(
    web: Website, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "protego", None)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /docs/auk\n", type="text/plain")
    with engine(web, tmp_path) as index, pytest.raises(SourceProblem, match="protego") as caught:
        index.sync([f"{web.url}/docs/"])
    assert "watersmeet[web]" in caught.value.hint


def test_pages_are_read_again_by_another_parser(web: Website, tmp_path: Path) -> None:
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
    settings = load(
        flags={
            "source": {"site": {"allowed": [web.host], "rate": 0.0}},
            "index": {"vectors": False},
            "parse": {"html": {"addresses": False}},
        }
    )
    web.forget()
    with Engine(str(tmp_path / "index"), settings) as index:
        report = index.sync(now=True)
        assert (report.unchanged, report.skipped) == (3, [])
    assert web.statuses.count(200) == 3


# ---------------------------------------------------------------- callers that are not the user


@pytest.mark.parametrize("local", [True, False])
def test_agents_open_no_private_address(web: Website, tmp_path: Path, local: bool) -> None:
    """Neither over HTTP nor over standard streams: an agent does what the documents that it reads say."""
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
        web.forget()
        service = Service(index)
        try:
            for paths in ([], [f"{web.url}/docs/"], [f"{web.url}/docs"]):
                try:
                    warnings = str(sync(service.engine, SyncParams(tuple(paths)), local, lambda _: None)["warnings"])
                except SourceProblem as problem:
                    warnings = str(problem)
                assert "not a public address" in warnings
            assert web.paths == []
            assert listed(index) == {"index", "auk", "tern"}
        finally:
            service.close()


@pytest.mark.parametrize("local", [True, False])
def test_agents_add_no_address(web: Website, tmp_path: Path, local: bool) -> None:
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
        web.forget()
        service = Service(index)
        try:
            for address in (f"{web.url}/other/", "https://example.org/?leak=secret", f"{web.url}/docs/auk.html"):
                with pytest.raises(ConfigError, match="not in this index"):
                    sync(service.engine, SyncParams((address,)), local, lambda _: None)
            assert web.paths == []
        finally:
            service.close()


# ---------------------------------------------------------------- all pages are read again


def _with_dates(web: Website, tmp_path: Path) -> Engine:
    """The index with other rules for dates: all pages are read again."""
    flags = {
        "source": {"site": {"allowed": [web.host], "rate": 0.0}},
        "index": {"vectors": False, "refresh": "always", "dates": ["mtime"]},
    }
    return Engine(str(tmp_path / "index"), load(flags=flags))


@pytest.mark.parametrize("with_sitemap", [False, True])
@pytest.mark.parametrize(
    "bad",
    [
        {"/docs/auk": Answer(b"", 404)},
        {"/docs/auk": Answer(b"", 500)},
        {"/docs/auk": moved("/login", 302)},
        {"/robots.txt": Answer(b"User-agent: *\nDisallow: /docs/auk\n", type="text/plain")},
        dict.fromkeys(("/docs/", "/docs/auk", "/docs/tern"), moved("/maintenance.html", 302)),
        dict.fromkeys(("/docs/", "/docs/auk", "/docs/tern"), moved("/docs/maintenance", 302)),
    ],
    ids=["404", "500", "302", "robots", "all outside", "all within"],
)
def test_a_bad_moment_deletes_nothing_if_all_is_read_again(
    web: Website, tmp_path: Path, bad: dict[str, Answer], with_sitemap: bool
) -> None:
    if with_sitemap:
        web.pages["/docs/sitemap.xml"] = sitemap(web.url, dict.fromkeys(web.pages, "2020-01-01"))
    with engine(web, tmp_path) as index:
        index.sync([f"{web.url}/docs/"])
    good = dict(web.pages)
    web.pages |= {
        "/login": page("Login"),
        "/maintenance.html": page("Later"),
        "/docs/maintenance": page("Later"),
        **bad,
    }
    web.forget()
    with _with_dates(web, tmp_path) as index:
        assert index.sync(now=True).removed == 0
        assert listed(index) >= {"index", "auk", "tern"}
        assert 304 not in web.statuses
        web.pages = good
        assert index.sync(now=True).removed == 0
        report = index.sync(now=True)
        assert (report.warnings, report.skipped) == ([], [])
        assert listed(index) >= {"index", "auk", "tern"}


@pytest.mark.parametrize("path", ["/docs/one.html", "/docs/"])
def test_pages_that_are_gone_are_removed_also_if_all_is_read_again(web: Website, tmp_path: Path, path: str) -> None:
    web.pages["/docs/one.html"] = page("One")
    with engine(web, tmp_path) as index:
        index.sync([web.url + path])
    name = "one.html" if path != "/docs/" else "auk"
    del web.pages[f"/docs/{name}"]
    with _with_dates(web, tmp_path) as index:
        assert index.sync(now=True).removed == 0
        assert index.sync(now=True).removed == 1
        assert name not in listed(index)


def test_parts_of_one_file_are_read_again(web: Website, tmp_path: Path) -> None:
    web.pages["/docs/llms-full.txt"] = Answer(b"# Auk\n\nDives.\n\n# Tern\n\nFlies.\n", type="text/plain")
    with engine(web, tmp_path) as index:
        before = index.sync([f"{web.url}/docs/"]).documents
    text = web.pages.pop("/docs/llms-full.txt")
    with _with_dates(web, tmp_path) as index:
        index.sync(now=True)
        assert index.status()["documents"] == before
        web.pages["/docs/llms-full.txt"] = text
        report = index.sync(now=True)
        assert (report.documents, report.removed, report.warnings) == (before, 0, [])
