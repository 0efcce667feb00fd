"""A folder in which much is wrong: what can be read is found, what cannot is named, and nothing takes long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import Progress

COMMAND = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
MEASURED = [
    sys.executable,
    "-c",
    "import json, resource, subprocess, sys;"
    "ran = subprocess.run(sys.argv[2:], timeout=60);"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
    "open(sys.argv[1], 'w').write(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]));"
    "sys.exit(ran.returncode)",
]
"""Between the tests and what is measured: a process begins with the memory of the one that starts it."""
WORDS_ONLY = {"WATERSMEET__INDEX__VECTORS": "false"}
Sync = Callable[[], tuple[dict[str, Any], float, int]]


def bad_names(root: Path) -> bool:
    """Whether this file system takes names that are not UTF-8."""
    try:
        Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.md")).write_text("# Latin\n\nlatinname\n")
    except OSError:
        return False
    return True


def fill(root: Path) -> None:
    root.mkdir()
    texts = {
        "good.md": "# Good\n\nkingfisher\n",
        "zz/last.md": "# Last\n\nsandpiper\n",
        "yaml.md": "---\ntags: [a, b\ntitle: {\n---\n# Broken\n\ndunlin yes\n",
        "headings.md": "".join(f"# Heading {n}\n\nword{n}h\n\n" for n in range(5000)) + "# End\n\nwhimbrel\n",
        "nested.md": ">" * 500 + " curlew\n\nafter\n",
        "lists.md": "".join(f"{'  ' * n}- item {n}\n" for n in range(500)) + "\nredshank\n",
        "brackets.md": "[" * 50_000 + "\n\noystercatcher\n" + "(" * 50_000,
        "empty.md": "",
        "blank.md": " \n\n\t\n",
        "matter.md": "---\ntitle: Only Matter\ntags: [turnstone]\n---\n",
        "long-word.md": "# Long\n\n" + "a" * 100_000 + "\n\nplover\n",
        "no-newline.md": "# No newline\n\nknot-at-the-end",
        "crlf.md": "# Windows\r\n\r\navocet on two\r\nlines\r\n",
        "fence.md": "# Open\n\n```\ngodwit\n" + "# not a heading\n" * 1000,
        "records.jsonl": '{"_id": "1", "text": "stilt"}\nnot json\n[]\n{"_id": "1", "text": "again"}\n{"_id": 2}\n',
        "line-5mb.md": "# Five\n\n" + "greenshank ruff " * 312_500 + "lapwing\n",
    }
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    (root / "binary.md").write_bytes(bytes(range(256)) * 200)
    (root / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(5000))
    (root / "utf16-bom.md").write_bytes("# Wide\n\nspoonbill\n".encode("utf-16"))
    (root / "utf16.md").write_bytes("# Wide\n\nbittern and other birds of the reeds\n".encode("utf-16-le"))
    (root / "nul.md").write_bytes(b"# Nul\n\negret\0heron\n")
    with open(root / "line-50mb.md", "wb") as file:
        file.write(b"x" * 50_000_000)
    (root / "loop").symlink_to(root)
    (root / "self.md").symlink_to(root / "self.md")
    (root / "dangling.md").symlink_to(root / "nowhere.md")
    (root / "folder.md").mkdir()
    (root / "folder.md" / "inside.md").write_text("# Inside\n\nsnipe\n")
    os.mkfifo(root / "fifo.md")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    root = tmp_path / "bad"
    fill(root)
    return root


@pytest.fixture
def sync(tmp_path: Path, bad: Path) -> Sync:
    """`watersmeet sync`: its report, CPU seconds, and the most memory it had, in MB."""

    def run() -> tuple[dict[str, Any], float, int]:
        argv = [*COMMAND, "sync", str(bad), "--json", "--index", str(tmp_path / "index")]
        env = {**os.environ, **WORDS_ONLY}
        used = tmp_path / "used"
        ran = subprocess.run([*MEASURED, str(used), *argv], cwd=tmp_path, env=env, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr.decode()
        assert b"Traceback" not in ran.stderr
        cpu, memory = json.loads(used.read_text())
        return json.loads(ran.stdout), cpu, memory // 1024

    return run


def reasons(report: dict[str, Any], kind: str) -> dict[str, str]:
    return {os.path.basename(item["path"]): item["reason"] for item in report[kind]}


@pytest.mark.slow
def test_a_folder_of_bad_files(tmp_path: Path, bad: Path, sync: Sync) -> None:
    odd = bad_names(bad)
    report, cpu, memory = sync()
    skipped, warnings = reasons(report, "skipped"), reasons(report, "warnings")
    expected = {
        "binary.md": "binary",
        "picture.txt": "binary",
        "nul.md": "binary",
        "line-50mb.md": "larger than 10 MB",
        "loop": "symlink loop",
        "self.md": "symlink loop",
        "dangling.md": "dangling symlink",
        "fifo.md": "not a regular file",
        "folder.md": "a folder",
        "records.jsonl:2": "not JSON",
        "records.jsonl:3": "not a JSON object",
        "records.jsonl:4": "already used",
        "records.jsonl:5": "neither a title nor a text",
        **({"caf\\xe9.md": "not valid UTF-8"} if odd else {}),
    }
    assert set(skipped) == set(expected)
    assert all(reason in skipped[name] for name, reason in expected.items()), skipped
    named = {"utf16.md": "UTF-16", "utf16-bom.md": "UTF-16", "headings.md": "5001 headings", "nested.md": "deep"}
    assert set(warnings) == {"yaml.md", "line-5mb.md", "lists.md", *named}
    assert all(words in warnings[name] for name, words in named.items()), warnings
    assert cpu < 15
    assert memory < 600
    found = {
        "kingfisher": "good.md", "sandpiper": "zz/last.md", "dunlin": "yaml.md", "whimbrel": "headings.md",
        "word4321h": "headings.md", "curlew": "nested.md", "redshank": "lists.md", "oystercatcher": "brackets.md",
        "turnstone": "matter.md", "plover": "long-word.md", "knot-at-the-end": "no-newline.md", "avocet": "crlf.md",
        "godwit": "fence.md", "stilt": "1", "lapwing": "line-5mb.md", "spoonbill": "utf16-bom.md",
        "bittern": "utf16.md", "snipe": "folder.md/inside.md", "Only Matter": "matter.md",
    }  # fmt: skip
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=WORDS_ONLY)) as engine:
        assert {word: engine.search(word).results[0].document for word in found} == found
        assert all(check.ok for check in engine.doctor())
        assert engine.search("avocet on two lines").results[0].lines[1] == 4


@pytest.mark.slow
def test_a_second_sync_is_stable_and_cheap(bad: Path, sync: Sync) -> None:
    first, dear, _ = sync()
    for path in bad.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    touched, _, _ = sync()
    again, cheap, _ = sync()
    for report in (touched, again):
        assert {name: report[name] for name in ("added", "changed", "moved", "removed")} == dict.fromkeys(
            ("added", "changed", "moved", "removed"), 0
        )
        assert report["unchanged"] == first["added"] == report["documents"]
        assert report["chunks"] == first["chunks"]
    assert cheap < min(1.0, dear)


def test_files_that_vanish_between_looking_and_reading(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    for name in ("gone", "kept", "replaced"):
        (root / f"{name}.md").write_text(f"# {name}\n\nwaders {name}\n")

    def meddle(step: Progress) -> None:
        if step.doing == "reading":
            (root / "gone.md").unlink()
            if (root / "replaced.md").is_file():
                (root / "replaced.md").unlink()
                (root / "replaced.md").mkdir()

    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=WORDS_ONLY)) as engine:
        report = engine.sync([root], progress=meddle)
        assert report.added == 1
        assert {os.path.basename(item.path): item.reason for item in report.skipped} == {
            "gone.md": "cannot be read: No such file or directory",
            "replaced.md": "not a regular file",
        }
        (root / "gone.md").write_text("# gone\n\nback again\n")
        assert engine.sync([root]).added == 1
        (root / "gone.md").write_text("# gone\n\nback again, and gone again\n")
        report = engine.sync([root], progress=meddle)
        assert "the version indexed before is kept" in report.skipped[-1].reason
        assert engine.search("back").results
        assert engine.sync([root]).removed == 1
        assert not engine.search("back").results


def test_a_page_that_becomes_binary_is_no_longer_found(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    page = root / "page.md"
    page.write_text("# Page\n\nfulmar\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=WORDS_ONLY)) as engine:
        engine.sync([root])
        page.write_bytes(bytes(range(256)) * 100)
        report = engine.sync([root])
        assert [item.reason for item in report.skipped] == ["binary"]
        assert report.removed == 1
        assert not engine.search("fulmar").results
        page.write_text("# Page\n\nfulmar again\n")
        assert engine.sync([root]).added == 1
        assert engine.search("fulmar").results


def test_lines_follow_an_edit_that_changes_no_words(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    page = root / "page.md"
    page.write_text("# Page\n\nfulmar\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=WORDS_ONLY)) as engine:
        engine.sync([root])
        before = engine.search("fulmar").results[0].lines
        page.write_text("\n\n\n# Page\n\nfulmar\n")
        assert engine.sync([root]).unchanged == 1
        assert engine.search("fulmar").results[0].lines == (before[0] + 3, before[1] + 3)
