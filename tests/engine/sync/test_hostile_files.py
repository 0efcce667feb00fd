"""Files and records made to stop a sync, or to take its time or memory: the others are read, and the reason is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Skipped
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.inspect import inspect
from watersmeet.engine.sync.parsers import parse_safely
from watersmeet.parse.markdown import Markdown

WORDS_ONLY = {"WATERSMEET__INDEX__VECTORS": "false"}
BOMB = "0: &b0 [x]\n" + "".join(f"{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 10))
MEASURED = (
    "import json, resource, sys; from watersmeet import Engine; from watersmeet.engine.settings.settings import load\n"
    f"engine = Engine('index', load(start='.', environ={WORDS_ONLY!r}))\n"
    "report = engine.sync(['vault'])\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
    "found = [r.document for r in engine.search('kingfisher').results]\n"
    "print(json.dumps([report.to_json(), used.ru_utime + used.ru_stime, peak // 1024, found]))"
)
Poisoned = Callable[[str, str], tuple[dict[str, Any], float, int]]

POISON = {
    "integer.md": ("+++\na = " + "1" * 5000 + "\n+++\ntext\n", "warnings", "front matter is not valid TOML"),
    "dotted.md": ("+++\n" + "a." * 30_000 + "b = 1\n+++\ntext\n", "warnings", "dots"),
    "quoted.md": ('+++\n"="' + ".a" * 30_000 + " = 1\n+++\ntext\n", "warnings", "dots"),
    "toml-deep.md": ("+++\na = " + "[" * 30_000 + "\n+++\ntext\n", "warnings", "front matter"),
    "yaml-bomb.md": (f"---\n{BOMB}---\ntext\n", "warnings", "more than 100,000 values"),
    "yaml-integer.md": ("---\na: " + "1" * 5000 + "\n---\ntext\n", "", ""),
    "anchor.md": ("# a{" + " " * 99_000 + "x\n", "", ""),
    "anchors.md": (("# a{" + " {#" * 30_000 + "\n") * 5, "", ""),
    "shortcodes.md": ("# " + '{{< a "' * 14_000 + "\n", "", ""),
    "headings.md": ("# a\n" * 1_000_000, "warnings", "too many headings"),
    "lists.md": ("- a\n" * 900_000, "warnings", "plain text"),
    "tags.md": ("#tag" * 100 + " " + " ".join(f"#t{n}" for n in range(100_000)), "warnings", "more than 1,000 tags"),
    "links.md": ("\n".join(f"[[n{n}]]" for n in range(100_000)), "warnings", "more than 10,000 links"),
    "paragraphs.txt": ("a\n\n" * 3_000_000, "", ""),
    "twice.jsonl": ('{"_id": "a", "text": "x"}\n' * 200_000, "skipped", "199,899 more lines"),
    "long.jsonl": (json.dumps({"_id": "a", "text": "word " * 1_900_000}), "", ""),
    "record.jsonl": (json.dumps({"_id": "a", "text": "# h\n\nword\n\n" * 500_000}), "warnings", "too many headings"),
    "deep.jsonl": (
        '{"_id": "a", "text": "x", "metadata": ' + '{"a": ' * 900 + "1" + "}" * 900 + "}",
        "skipped",
        "deep",
    ),
    "slashes.jsonl": (json.dumps({"_id": "a/" * 100_000 + "b", "text": "x"}), "", ""),
    "number.jsonl": ('{"_id": "a", "text": "x", "metadata": {"n": ' + "1" * 5000 + "}}", "skipped", "not JSON"),
}


@pytest.fixture
def poisoned(tmp_path: Path) -> Poisoned:
    """A sync of one such file between two good ones, in a process of its own: report, CPU seconds, MB."""

    def sync(name: str, text: str) -> tuple[dict[str, Any], float, int]:
        vault = tmp_path / "vault"
        vault.mkdir()
        for good in ("0.md", "zz.md"):
            (vault / good).write_text("# Good\n\nkingfisher\n")
        (vault / name).write_text(text)
        argv = [sys.executable, "-c", MEASURED]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == 0, done.stderr[-500:]
        report, cpu, memory, found = json.loads(done.stdout)
        assert set(found) >= {"0.md", "zz.md"}
        return report, cpu, memory

    return sync


@pytest.mark.slow
@pytest.mark.parametrize("name", POISON)
def test_the_others_are_read_and_soon(poisoned: Poisoned, name: str) -> None:
    text, kind, reason = POISON[name]
    report, cpu, memory = poisoned(name, text)
    said = [item["reason"] for item in (*report["skipped"], *report["warnings"])]
    if kind:
        assert any(reason in item["reason"] for item in report[kind]), said
    else:
        assert not report["skipped"]
    assert cpu < 15  # under 5 on any machine of today that is not busy
    assert memory < 350


class Panic(BaseException):
    """What a library written in Rust raises: no Exception."""


Panic.__name__ = "PanicException"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no\nsuch thing"), "cannot be read: ValueError: no"),
        (RecursionError(), "cannot be read: nested too deeply"),
        (MemoryError(), "cannot be read: not enough memory"),
        (OverflowError("too large"), "cannot be read: OverflowError: too large"),
        (Panic("byte index 3 is not a char boundary"), "PanicException: byte index 3"),
    ],
)
def test_whatever_a_parser_raises_is_its_files_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException, reason: str
) -> None:
    real = Markdown.parse

    def parse(self: Markdown, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        yield from real(self, found, content)
        if b"poison" in content:
            raise error

    monkeypatch.setattr(Markdown, "parse", parse)
    vault = tmp_path / "vault"
    vault.mkdir()
    for name in ("a", "b", "c"):
        (vault / f"{name}.md").write_text(f"# {name}\n\nkingfisher {'poison' if name == 'b' else ''}\n")
    settings = load(start=str(tmp_path), environ=WORDS_ONLY)
    with Engine(tmp_path / "index", settings) as engine:
        report = engine.sync([vault])
        (skipped,) = report.skipped
        assert skipped.path.endswith("b.md")
        assert reason in skipped.reason
        assert {r.document for r in engine.search("kingfisher").results} >= {"a.md", "c.md"}
    assert any(reason in warning for warning in inspect(str(vault / "b.md"), settings)["warnings"])


def test_who_stops_the_program_stops_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(parse_safely(items(), len))


def test_records_made_to_hang_a_registration(tmp_path: Path) -> None:
    good = {
        "path": "/good",
        "server_name": "good",
        "description": "tells the weather",
        "tags": "x" + " " * 40_000 + "y",
    }
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "bomb.yaml").write_text(BOMB)
    (folder / "deep.yaml").write_text("[" * 50_000)
    (folder / "number.json").write_text('{"path": "/n", "description": ' + "1" * 5000 + "}")
    (folder / "good.json").write_text(json.dumps(good))
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=WORDS_ONLY)) as engine:
        before = os.times()
        report = engine.registry.register(str(folder)).to_json()
        after = os.times()
        assert report["registered"] == 1
        assert {os.path.basename(item["record"]) for item in report["skipped"]} == {
            "bomb.yaml",
            "deep.yaml",
            "number.json",
        }
        assert after.user - before.user < 10
        assert engine.registry.get("/good")["tags"] == ["x" + " " * 40_000 + "y"]
