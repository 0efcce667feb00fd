"""Parsing of source code: megabytes for each CPU second, and the share of the bytes that are in named units.

    python benchmarks/code_parsing.py FOLDER [FOLDER ...]

Folders are working copies of any repositories. Nothing of them is kept.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

from _common import keep, machine

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.parse._definitions import has_grammar
from watersmeet.parse._languages import language_of
from watersmeet.parse.code import Code

LEAST = 20_000
"""Languages with fewer bytes are left out of the table."""


def check(document: Document, content: bytes) -> None:
    """Every line that is not blank is in exactly one section."""
    rows = [row for section in document.sections for row in range(*_rows(section.place.lines))]
    lines = content.count(b"\n") + 1
    assert len(rows) == len(set(rows)), document.id
    assert all(1 <= row <= max(lines, content.count(b"\r") + 1) for row in rows), document.id


def _rows(lines: tuple[int, int] | None) -> tuple[int, int]:
    return (lines[0], lines[1] + 1) if lines else (0, 0)


def main(folders: list[str]) -> None:
    parser = Code()
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for path in (path for folder in folders for path in sorted(Path(folder).rglob("*")) if path.is_file()):
        content = path.read_bytes() if not path.is_symlink() else b""
        language = language_of(path.name, content.decode("utf8", "ignore")) if content else None
        if language is None or not has_grammar(language):  # loads it: that is done once, and is not counted
            continue
        began = time.process_time()
        every = list(parser.parse(Found(str(path), str(path), "0"), content))
        spent = time.process_time() - began
        for document in (one for one in every if isinstance(one, Document)):
            check(document, content)
            row = sums[language.name]
            texts = [(section.headings, block.text) for section in document.sections for block in section.blocks]
            row[0] += 1
            row[1] += sum(len(text.encode()) for _, text in texts)
            row[2] += sum(len(text.encode()) for headings, text in texts if headings)
            row[3] += spent
            row[4] += len(texts)
    rows = [
        {
            "language": language,
            "files": int(files),
            "bytes": int(size),
            "in_units": round(units / size, 3),
            "mb_per_cpu_second": round(size / spent / 1e6, 2),
            "sections": int(count),
        }
        for language, (files, size, units, spent, count) in sorted(sums.items())
        if size >= LEAST
    ]
    names = sorted({Path(folder).name for folder in folders})
    print(json.dumps(keep("code_parsing", {"machine": machine(), "folders": names, "languages": rows}), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
