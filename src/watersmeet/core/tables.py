"""Header rows of Markdown tables. A chunk that continues a long table repeats them."""

from __future__ import annotations

_DELIMITERS = frozenset("|-: \t")


def table_header(text: str) -> str:
    """The header and delimiter rows with which a Markdown table begins, or empty."""
    header, _, rest = text.partition("\n")
    delimiter = rest.partition("\n")[0]
    if "|" not in header or "|" not in delimiter or "-" not in delimiter or not _DELIMITERS.issuperset(delimiter):
        return ""
    return f"{header}\n{delimiter}"


def continues_table(before: str, text: str) -> str:
    """The header rows that a text repeats from the table at the end of the text before it, or empty."""
    header = table_header(text)
    if not header or "|" not in before[before.rfind("\n") + 1 :]:
        return ""
    start = before.rfind(header)
    return header if start >= 0 and "\n\n" not in before[start:] else ""
