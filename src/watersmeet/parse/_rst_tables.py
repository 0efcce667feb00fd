"""Tables of reStructuredText as Markdown tables. Each function returns an empty text for a table that is not simple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from watersmeet.parse._markup import dedented, indent_of
from watersmeet.parse._tables import table

_MAX_CELLS = 100_000


def grid_table(lines: Sequence[str]) -> str:
    """A table drawn with `+`, `-` and `|`, if no cell spans others."""
    edges = [at for at, mark in enumerate(lines[0]) if mark == "+"]
    rows: list[list[str]] = []
    header = False
    parts: list[list[str]] = []
    for line in lines:
        if line.startswith("+"):
            if [at for at, mark in enumerate(line) if mark == "+"] != edges or line.strip("+-="):
                return ""
            if parts:
                rows.append([" ".join(filter(None, part)) for part in parts])
            header = header or ("=" in line and len(rows) == 1)
            parts = []
            continue
        if any(line[at : at + 1] != "|" for at in edges):
            return ""
        parts = parts or [[] for _ in edges[1:]]
        for part, (left, right) in zip(parts, pairwise(edges), strict=True):
            part.append(line[left + 1 : right].strip())
    return table(rows, header) if rows and not parts else ""


def simple_table(lines: Sequence[str]) -> str:
    """A table between rules of `=`, if no cell goes over its column. A row with an empty first cell continues."""
    columns = _columns(lines[0])
    rows: list[list[str]] = []
    rules = [at for at, line in enumerate(lines) if line.startswith("=") and set(line) <= {"=", " "}]
    header = len(rules) > 2
    for at, line in enumerate(lines):
        if at in rules or not line.strip():
            continue
        if line.startswith("-") and set(line) <= {"-", " "}:
            return ""
        if any(line[end:start].strip() for (_, end), (start, _) in pairwise(columns)):
            return ""
        ends = [end for _, end in columns[:-1]]
        cells = [line[start:end].strip() for (start, _), end in zip(columns, [*ends, len(line)], strict=True)]
        if not cells[0] and rows:
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(["" if text == "\\" else text for text in cells])
    return table(rows, header) if rows else ""


def _columns(rule: str) -> list[tuple[int, int]]:
    columns, at = [], 0
    for mark, run in groupby(rule):
        length = sum(1 for _ in run)
        if mark == "=":
            columns.append((at, at + length))
        at += length
    return columns


def list_table(lines: Sequence[str], settings: Mapping[str, str]) -> str:
    """A table written as a list of lists: `* -` begins a row, `-` a cell."""
    rows: list[list[list[str]]] = []
    margin = 0
    for line in dedented(lines):
        text = line.lstrip("* ") if line.startswith("*") else line.strip()
        inner = indent_of(line) if not line.startswith("*") else len(line) - len(text)
        if line.startswith("*"):
            rows.append([])
            margin = inner
        if not rows:
            return ""
        if inner == margin and (text == "-" or text.startswith("- ")):
            rows[-1].append([text[1:].strip()])
        elif rows[-1]:
            rows[-1][-1].append(text)
        elif text:
            return ""
    if sum(map(len, rows)) > _MAX_CELLS or not rows:
        return ""
    header = settings.get("header-rows", "0").strip() not in ("", "0")
    return table([[" ".join(filter(None, part)) for part in row] for row in rows], header)


def csv_table(lines: Sequence[str], settings: Mapping[str, str]) -> str:
    """A table written as comma-separated values."""
    import csv

    delimiter = settings.get("delim", ",").strip()
    delimiter = {"tab": "\t", "space": " "}.get(delimiter, delimiter)
    try:
        rows = list(csv.reader(dedented(lines), delimiter=delimiter, skipinitialspace=True))
        top = list(csv.reader([settings.get("header", "")], delimiter=delimiter, skipinitialspace=True))
    except (csv.Error, TypeError):
        return ""
    rows = [row for row in (*top, *rows) if row]
    header = bool(settings.get("header")) or settings.get("header-rows", "0").strip() not in ("", "0")
    return table(rows, header) if rows and sum(map(len, rows)) <= _MAX_CELLS else ""
