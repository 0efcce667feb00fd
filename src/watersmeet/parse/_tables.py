"""Markdown tables from rows of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Sequence[Sequence[str]], header: bool = True) -> str:
    """A Markdown table of rows of any length; without a header its first row is empty."""
    width = max(map(len, rows), default=0)
    top, body = (rows[0], rows[1:]) if header and rows else ([""] * width, rows)
    lines = [_row(top, width), "|" + "---|" * width, *(_row(row, width) for row in body)]
    return "\n".join(lines)


def compact_table(rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first row is the header, without empty rows and columns; empty if all are."""
    cells = [row for row in ([cell(text) for text in row] for row in rows) if any(row)]
    width = max(map(len, cells), default=0)
    used = [column for column in range(width) if any(column < len(row) and row[column] for row in cells)]
    kept = [[row[column] if column < len(row) else "" for column in used] for row in cells]
    return "\n".join([_line(kept[0]), "|" + "---|" * len(used), *map(_line, kept[1:])]) if kept else ""


def cell(text: str) -> str:
    """Text of a cell, in one line."""
    text = " ".join(text.split())
    return text.replace("|", "\\|") if "|" in text else text


def _row(row: Sequence[str], width: int) -> str:
    return _line((*map(cell, row), *[""] * (width - len(row))))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
