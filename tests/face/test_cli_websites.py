"""Websites from the command line: sync with its other names, and fetch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pages import Answer, Website, page, website
from watersmeet.engine.sync.page_files import file_name
from watersmeet.face.cli.main import run


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Website]:
    with website() as site:
        site.pages |= {
            "/docs/": page("Home", "auk", "tern.md"),
            "/docs/auk": page("Auk", text="An auk dives for capelin."),
            "/docs/tern.md": Answer(b"# Tern\n\nA tern crosses the ocean.\n", type="text/markdown"),
        }
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("WATERSMEET__SOURCE__SITE__ALLOWED", json.dumps([site.host]))
        monkeypatch.setenv("WATERSMEET__SOURCE__SITE__RATE", "0.0")
        yield site


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_site_is_added_updated_and_removed(web: Website, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"{web.url}/docs"
    added = said(capsys, "add", address, "--no-vectors", "--max-pages", "2")
    assert (added["added"], added["documents"]) == (2, 2)
    assert "--max-pages" in added["warnings"][0]["reason"]
    assert "links" in added["notes"][0]["reason"]
    assert said(capsys, "update", "--no-vectors")["documents"] == 2
    assert said(capsys, "update", address, "--no-vectors", "--max-pages", "9")["documents"] == 3
    assert run(["sync", "--now", "--no-vectors"]) == 0
    assert "pages are those that links below its path lead to" in capsys.readouterr().out
    result = said(capsys, "search", "capelin")["results"][0]
    assert (result["document"], result["path"]) == ("auk", f"{web.url}/docs/auk")
    assert said(capsys, "remove", address)["removed"] == 3


def test_pages_are_saved_as_markdown(web: Website, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    saved = said(capsys, "fetch", f"{web.url}/docs/", "--output", "out")
    assert sorted(Path(file).relative_to(tmp_path / "out").as_posix() for file in saved["files"]) == [
        "auk.md",
        "index.md",
        "tern.md",
    ]
    text = (tmp_path / "out" / "auk.md").read_text("utf8")
    assert text == f"---\nsource: {web.url}/docs/auk\n---\n\n# Auk\n\nAn auk dives for capelin.\n"
    assert not (tmp_path / ".watersmeet").exists()
    one = said(capsys, "fetch", f"{web.url}/docs/tern.md", "--output", "one")
    assert len(one["files"]) == 1
    few = said(capsys, "fetch", f"{web.url}/docs/", "--output", "few", "--max-pages", "1")
    assert len(few["files"]) == 1
    assert "--max-pages" in few["warnings"][0]["reason"]
    assert run(["fetch", f"{web.url}/docs/", "--output", "out"]) == 0
    assert "3 files in out" in capsys.readouterr().out


def test_fetch_says_what_is_wrong(web: Website, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for address, reason in ((f"{web.url}/none/", "404"), (str(tmp_path), "is not an address")):
        assert run(["fetch", address, "--output", "out"]) == 2
        assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_private_address_is_refused_with_a_hint(
    web: Website, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WATERSMEET__SOURCE__SITE__ALLOWED")
    assert run(["sync", f"{web.url}/docs/"]) == 2
    message = capsys.readouterr().err
    assert "not a public address" in message
    assert f'allowed = ["{web.host}"]' in message
    assert web.paths == []


def test_a_folder_of_others_allows_nothing(
    web: Website, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An untrusted settings file cannot open private addresses."""
    monkeypatch.delenv("WATERSMEET__SOURCE__SITE__ALLOWED")
    (tmp_path / "watersmeet.toml").write_text(f'[source.site]\nallowed = ["{web.host}"]\nrobots = false\n')
    assert run(["sync", f"{web.url}/docs/"]) == 2
    assert "not a public address" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/x", "a/../../b", "..", "\\..\\x", "a\0b", "x" * 500, "?q=/../"]
)
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    path = (tmp_path / file_name(name)).resolve()
    assert path.is_relative_to(tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")


def test_flags_for_folders_are_refused(web: Website, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["sync", f"{web.url}/docs/", "--include", "*.md"]) == 2
    assert "for folders" in capsys.readouterr().err
    assert run(["search", "auk", "--in", f"{web.url}/docs/"]) == 2
    assert "--in takes a folder" in capsys.readouterr().err
    assert run(["watch", f"{web.url}/docs/"]) == 2
    assert "only folders and files can be watched" in capsys.readouterr().err
    assert web.paths == []
    assert not (tmp_path / ".watersmeet").exists()


def test_each_page_has_a_file_of_its_own(web: Website, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    long = "%E9%B3%A5" * 100
    names = ["a", "a.html", "A", "g?x=1", "g-x=1", "a-2", "guide", "guide.md/x", "guide-md/x", long, f"{long}-2"]
    web.pages["/docs/"] = page("Home", *names)
    web.pages |= {f"/docs/{name}": page(f"Page {number}") for number, name in enumerate(names)}
    saved = said(capsys, "fetch", f"{web.url}/docs/", "--output", "out")
    assert saved["skipped"] == []
    written = [path.read_text("utf8") for path in (tmp_path / "out").rglob("*.md") if path.is_file()]
    assert len(saved["files"]) == len(set(saved["files"])) == len(written) == len(names) + 1
    assert {f"# Page {number}" for number in range(len(names))} == {
        line for text in written for line in text.splitlines() if line.startswith("# Page")
    }


def test_a_page_that_cannot_be_written_is_skipped(
    web: Website, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "out" / "auk.md" / "mine").mkdir(parents=True)
    saved = said(capsys, "fetch", f"{web.url}/docs/", "--output", "out")
    assert len(saved["files"]) == 2
    assert [(one["path"], one["reason"].partition(":")[0]) for one in saved["skipped"]] == [
        (f"{web.url}/docs/auk", "cannot be written")
    ]
