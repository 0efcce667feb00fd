"""Formats: what the parsers read from real files, beside the runner-up library of each format.

    python benchmarks/formats.py FOLDER [--formats pdf,docx] [--files] [--sources "where the files came from"]

FOLDER holds `FORMAT/NAME.EXT` (or `FORMAT-ORIGIN/NAME.EXT`) with the gold text beside it, `NAME.EXT.gold.md` or
`.gold.txt`. The runner-up libraries are used if they are installed:

    pip install pypdfium2 mammoth "markitdown[pptx,xlsx]" odfpy striprtf trafilatura

F1 is that of the bags of words of text and gold (links without their targets): the mean over files, and over all words.
Recall of headings and of table cells counts those of the gold that ours has, too. Rates are per CPU second, after one
file that is not counted. `--files` also lists every file, worst first.
"""

from __future__ import annotations

import argparse
import html
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _common import RESULTS, keep, machine
from _other_converters import RUNNER_UPS
from quality import settings

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Skipped
from watersmeet.engine.components import build
from watersmeet.engine.sync.parsers import readers

FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
WORST = 120
"""Files of a format that are kept in the results, worst first."""
GOLD = (".gold.md", ".gold.txt")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
_COMMENT = re.compile(r"<!--[^>]*-->")
_IMAGE = re.compile(r"<img[^<>]*alt=\"([^\"<>]*)\"[^<>]*>")
_INLINE = re.compile(r"</?(?:sup|sub|span|u|em|strong|b|i|code|mark|kbd)(?: [^<>]*)?>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_WORD = re.compile(r"\w+")
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*#*$", re.MULTILINE)
_CELL_RULE = re.compile(r"[\s:|-]*")
_URL = re.compile(r"https?://\S+")


def words(text: str) -> Counter[str]:
    """Words without marks: no targets of links, no HTML tags, no fences, emphasis or escapes."""
    text = _TAG.sub(" ", _INLINE.sub("", _IMAGE.sub(r" \1 ", _COMMENT.sub(" ", text))))
    text = _URL.sub(" ", _LINK.sub(r"\1", html.unescape(text)))
    for mark in ("\\", "*", "`", "__"):
        text = text.replace(mark, "")
    return Counter(word.replace("_", "") for word in _WORD.findall(text.casefold()) if word.strip("_"))


def _plain(text: str) -> str:
    return " ".join(words(text).elements())


def headings(text: str) -> Counter[str]:
    return Counter(filter(None, map(_plain, _HEADING.findall(text))))


def cells(text: str) -> Counter[str]:
    """Cells of Markdown and HTML tables."""
    found: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("|") and not _CELL_RULE.fullmatch(line):
            found += re.split(r"(?<!\\)\|", line.strip("|"))
    found += re.findall(r"<t[dh][^<>]*>(.*?)</t[dh]>", text, re.DOTALL)
    return Counter(filter(None, map(_plain, found)))


@dataclass
class Score:
    """What one program read of the files of one format."""

    files: int = 0
    read: int = 0
    f1: list[float] = field(default_factory=list)
    matched: int = 0
    total: int = 0
    headings: list[int] = field(default_factory=lambda: [0, 0])
    cells: list[int] = field(default_factory=lambda: [0, 0])
    cpu: float = 0.0
    size: int = 0
    pages: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, text: str | None, gold: str, cpu: float, size: int, pages: int) -> None:
        self.files += 1
        self.cpu += cpu
        self.size += size
        self.pages += pages
        self.read += text is not None
        ours, theirs = words(text or ""), words(gold)
        matched, total = (ours & theirs).total(), ours.total() + theirs.total()
        f1 = 2 * matched / total if total else 1.0
        self.f1.append(f1)
        self.matched += matched
        self.total += total
        row = {"file": name, "f1": round(f1, 3), "words": ours.total(), "gold_words": theirs.total()}
        for sort, pick in (("headings", headings), ("cells", cells)):
            wanted = pick(gold)
            found = (pick(text or "") & wanted).total()
            pair = getattr(self, sort)
            pair[0] += found
            pair[1] += wanted.total()
            row[sort] = f"{found}/{wanted.total()}"
        self.rows.append(row)

    def figures(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "read": self.read,
            "f1": round(statistics.mean(self.f1), 3) if self.f1 else None,
            "f1_all_words": round(2 * self.matched / self.total, 3) if self.total else None,
            "headings": _share(self.headings),
            "cells": _share(self.cells),
            "mb_per_cpu_second": round(self.size / 1e6 / self.cpu, 2) if self.cpu else None,
            "pages_per_cpu_second": round(self.pages / self.cpu, 1) if self.cpu and self.pages else None,
        }


def _share(pair: list[int]) -> float | None:
    return round(pair[0] / pair[1], 3) if pair[1] else None


def markdown_of(documents: Iterable[Document | Skipped]) -> tuple[str | None, int]:
    """The text of a file with its headings as Markdown, and the number of its last page; no text if none was read."""
    lines: list[str] = []
    pages = 0
    read = False
    for document in documents:
        if isinstance(document, Skipped):
            continue
        read = True
        for section in document.sections:
            if section.level:
                lines.append(f"{'#' * min(section.level, 6)} {section.headings[-1]}")
            for block in section.blocks:
                lines.append(block.text)
                pages = max(pages, (block.place.pages or (0, 0))[1])
    return ("\n\n".join(lines) if read else None), pages


def measured(read: Callable[[], tuple[str | None, int]]) -> tuple[str | None, int, float]:
    start = time.process_time()
    try:
        text, pages = read()
    except FAILURES as problem:  # a file that a library cannot read counts as not read
        print(f"  {type(problem).__name__}: {str(problem)[:100]}", file=sys.stderr)
        text, pages = None, 0
    return text, pages, time.process_time() - start


def measure(folder: Path) -> dict[str, Score]:
    """Scores of ours and of the runner-up, for the files of one format."""
    pairs = []
    for path in sorted(folder.rglob("*")):
        gold = next((path.with_name(path.name + end) for end in GOLD if path.with_name(path.name + end).exists()), None)
        if gold is not None:
            pairs.append((path, gold.read_text("utf8", errors="replace")))
    scores = {"watersmeet": Score()}
    runner_up = RUNNER_UPS.get(folder.name.partition("-")[0])
    if runner_up and runner_up.installed():
        scores[runner_up.name] = Score()
    chosen = settings("default")
    by_ending = {form: build("parse", name, chosen.of("parse", name)) for form, name in readers().items()}
    for number, (path, gold_text) in enumerate(pairs):
        content = path.read_bytes()
        parser = by_ending.get(path.suffix.lower())
        if parser is None:
            print(f"  no parser reads {path.name}", file=sys.stderr)
            continue
        found = Found(path.name, str(path), "0")

        def ours(parser: Any = parser, found: Found = found, content: bytes = content) -> tuple[str | None, int]:
            return markdown_of(parser.parse(found, content))

        if number == 0:
            measured(ours)
        text, pages, cpu = measured(ours)
        pages = 1 if folder.name.startswith("html") else pages
        scores["watersmeet"].add(path.name, text, gold_text, cpu, len(content), pages)
        if len(scores) > 1 and runner_up:
            convert = runner_up.converter(path.suffix.lower())
            if number == 0:
                measured(lambda convert=convert, content=content: (convert(content), 0))  # type: ignore[misc]
            theirs, _, cpu = measured(lambda convert=convert, content=content: (convert(content), 0))  # type: ignore[misc]
            scores[runner_up.name].add(path.name, theirs, gold_text, cpu, len(content), pages)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--formats", default="", help="names of folders; none: all")
    parser.add_argument("--files", action="store_true", help="list every file, worst first")
    parser.add_argument("--sources", default="", help="a sentence on where the files came from")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    wanted = args.formats.split(",") if args.formats else sorted(p.name for p in args.folder.iterdir() if p.is_dir())
    table: dict[str, Any] = {}
    files: dict[str, Any] = {}
    for name in wanted:
        scores = measure(args.folder / name)
        table[name] = {program: score.figures() for program, score in scores.items() if score.files}
        files[name] = sorted(scores["watersmeet"].rows, key=lambda row: row["f1"])
        print(name, table[name], file=sys.stderr, flush=True)
    worst = {name: rows[:WORST] for name, rows in files.items()}
    figures = {"machine": machine(), "sources": args.sources, "table": table, "files": worst}
    result = keep("formats", figures, args.out)
    text = markdown(result, args.files)
    (args.out / f"formats-{result['commit']}.md").write_text(text, "utf8")
    print(text)


def markdown(result: dict[str, Any], with_files: bool) -> str:
    lines = [
        f"# Formats at {result['commit']}",
        "",
        f"{result['date']}. {result['machine']['processor']}; Python {result['machine']['python']}.",
        *([result["sources"]] if result["sources"] else []),
        "F1: mean over files, and over all words. Headings, cells: recall. Rates per CPU second.",
        "",
        "| format | program | read | F1 | F1, all words | headings | cells | MB/s | pages/s |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, programs in result["table"].items():
        for program, row in programs.items():
            shown = [row[key] for key in ("f1", "f1_all_words", "headings", "cells")]
            rates = [row["mb_per_cpu_second"], row["pages_per_cpu_second"]]
            values = " | ".join("" if one is None else f"{one:.3f}" for one in shown)
            speeds = " | ".join("" if one is None else f"{one:g}" for one in rates)
            lines.append(f"| {name} | {program} | {row['read']} of {row['files']} | {values} | {speeds} |")
    if with_files:
        lines += ["", "| file | F1 | words | gold | headings | cells |", "|---|--:|--:|--:|--:|--:|"]
        for name, rows in result["files"].items():
            for row in rows:
                counts = f"{row['words']} | {row['gold_words']} | {row['headings']} | {row['cells']}"
                lines.append(f"| {name}/{row['file']} | {row['f1']:.3f} | {counts} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
