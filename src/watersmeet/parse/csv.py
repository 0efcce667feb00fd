"""Tables in text files (`.csv`, `.tsv`): rows as Markdown tables, each with the header row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any, ClassVar, NamedTuple

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.options import option
from watersmeet.core.place import Place
from watersmeet.parse._decode import decode
from watersmeet.parse._values import clean

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_CHARS = 200_000
_MAX_COLUMNS = 200
_MAX_CELL = 5_000
_MAX_HEADER_CELL = 200
_ROWS_PER_BLOCK = 200
_NUMBERS_SAMPLE = 1_000
"""A table that has more rows than this, nearly all of them numbers, is data: only its first rows are read."""
_NUMBERS_SHARE = 0.9


class _Row(NamedTuple):
    cells: list[str]
    first: int  # line, from 1
    last: int


@dataclass(frozen=True, slots=True)
class Csv(ParserOptions):
    """A parser of comma-separated and tab-separated values, one document a file."""

    reads: ClassVar[tuple[str, ...]] = ("text/csv", "text/tab-separated-values", ".csv", ".tsv")

    max_rows: int = option(10_000, "rows of a table that are read", least=1)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        dialect = _dialect(text, "\t" if found.name.lower().endswith(".tsv") else "")
        before, rows, noted = _rows(text, dialect, self.max_rows)
        blocks = [Block(" ".join(filter(None, row.cells)), Place((row.first, row.last))) for row in before]
        header = _is_header(rows)
        if rows:
            names = rows[0].cells if header else [""] * len(rows[0].cells)
            blocks += _blocks(names, rows[1:] if header else rows, rows[0])
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=PurePosixPath(found.name).stem,
            path=found.uri,
            sections=(Section((), 0, blocks[0].place, tuple(blocks)),) if blocks else (),
            fields={"columns": [name for name in rows[0].cells if name][:_MAX_COLUMNS]} if header else {},
            warnings=(*warnings, *noted),
        )


class _Dialect(NamedTuple):
    delimiter: str
    quoted: bool


def _dialect(text: str, sure: str) -> _Dialect:
    """The delimiter that gives most rows the same number of columns, more than one, in the first lines.

    The standard library's sniffer is not used: it is slow, and often takes a letter for the delimiter.
    """
    import csv

    sample = text[:_SAMPLE_CHARS].split("\n", 2 * _SAMPLE_ROWS)[: 2 * _SAMPLE_ROWS]
    best = (0.0, 0, sure or ",", True)
    for quoted in (True, False):
        for delimiter in sure or _DELIMITERS:
            try:
                read = islice(_reader(sample, _Dialect(delimiter, quoted)), _SAMPLE_ROWS)
                widths = Counter(len(row) for row in read if any(row))
            except csv.Error:
                continue
            width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
            share = count / max(1, widths.total()) if width > 1 else 0.0
            if (share, width) > best[:2]:
                best = (share, width, delimiter, quoted)
        if best[0]:
            break
    return _Dialect(best[2], best[3])


def _reader(lines: Sequence[str], dialect: _Dialect) -> Any:
    import csv

    with_ends = (line + "\n" for line in lines)  # a quoted cell may span lines
    if dialect.quoted:
        return csv.reader(with_ends, delimiter=dialect.delimiter, skipinitialspace=True)
    return csv.reader(with_ends, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE, skipinitialspace=True)


def _rows(text: str, dialect: _Dialect, most: int) -> tuple[list[_Row], list[_Row], list[str]]:
    """Lines before the table, its rows, and warnings."""
    import csv

    lines = text.split("\n")
    rows, warnings, wide, long = list[_Row](), list[str](), False, False
    reader = _reader(lines, dialect)
    last = 0
    try:
        for cells in reader:
            first, last = last + 1, reader.line_num
            if not any(map(str.strip, cells)):
                continue
            if len(rows) > most:
                warnings.append(f"more than {most:,} rows; the others are left out")
                break
            wide = wide or len(cells) > _MAX_COLUMNS
            long = long or any(len(cell) > _MAX_CELL for cell in cells[:_MAX_COLUMNS])
            rows.append(_Row([clean(cell[:_MAX_CELL].strip()) for cell in cells[:_MAX_COLUMNS]], first, last))
            if len(rows) == _NUMBERS_SAMPLE and _numbers(rows[1:]) > _NUMBERS_SHARE:
                warnings.append(f"nearly all cells are numbers; only the first {_ROWS_PER_BLOCK} rows are read")
                del rows[_ROWS_PER_BLOCK + 1 :]
                break
    except csv.Error as problem:
        if dialect.quoted:  # a quote that is never closed
            return _rows(text, _Dialect(dialect.delimiter, False), most)
        warnings.append(f"the rows after line {last} cannot be read: {problem}")
    if wide:
        warnings.append(f"more than {_MAX_COLUMNS} columns; the others are left out")
    if long:
        warnings.append(f"cells are cut after {_MAX_CELL:,} characters")
    start = _start(rows)
    return rows[:start], rows[start:], warnings


def _start(rows: list[_Row]) -> int:
    """Number of rows before the table: titles and remarks have fewer cells than most rows."""
    sample = rows[:_SAMPLE_ROWS]
    usual = Counter(len(row.cells) for row in sample).most_common(1)
    width = usual[0][0] if usual else 0
    for at, row in enumerate(sample[:10]):
        if sum(map(bool, row.cells)) > width // 2:
            return at
    return 0


def _is_header(rows: list[_Row]) -> bool:
    """Whether the first row names the columns: short, distinct texts without numbers."""
    if not rows:
        return False
    cells = [cell for cell in rows[0].cells if cell]
    distinct = len(set(cells)) == len(cells)
    return bool(cells) and distinct and not any(len(c) > _MAX_HEADER_CELL or _is_number(c) for c in cells)


def _numbers(rows: list[_Row]) -> float:
    cells = [cell for row in rows for cell in row.cells if cell]
    return sum(map(_is_number, cells)) / len(cells) if cells else 0.0


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ".").rstrip("%") if len(text) < 40 else "x")
    except ValueError:
        return False
    return True


def _blocks(header: list[str], rows: list[_Row], first: _Row) -> Iterator[Block]:
    """Tables of at most 200 rows. Lines begin two before the first row, as those of a Markdown table would."""
    from watersmeet.parse._tables import table

    if not rows:
        yield Block(table([header]), Place((first.first, first.last)))
    iterator = iter(rows)
    while part := list(islice(iterator, _ROWS_PER_BLOCK)):
        start = max(first.first, part[0].first - 2)
        yield Block(table(list(chain([header], (row.cells for row in part)))), Place((start, part[-1].last)))
