"""A context pack: the best passages as Markdown with citations, never more than so many tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watersmeet.core.cost import estimate
from watersmeet.core.cost import hundredths as cost_of
from watersmeet.core.model import ChunkId, Passage, Result
from watersmeet.present.answer import place

WORTHWHILE = 40
"""A passage that does not fit is cut only if at least so many tokens of it remain."""

_BOUNDARY = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SPACE = re.compile(r"\s+")
_TITLE = 160


Citable = Passage | Result
"""A passage that a pack can quote."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a passage of the pack is from; `cut` if only its beginning fitted."""

    id: ChunkId
    document: str
    title: str
    headings: tuple[str, ...]
    path: str
    lines: tuple[int, int]
    tokens: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Pack:
    text: str
    tokens: int
    budget: int
    citations: tuple[Citation, ...]

    def to_json(self) -> dict[str, Any]:
        cited = [
            {
                "id": c.id,
                "document": c.document,
                "title": c.title,
                "headings": list(c.headings),
                "path": c.path,
                "lines": list(c.lines),
                "tokens": c.tokens,
                "cut": c.cut,
            }
            for c in self.citations
        ]
        return {"text": self.text, "tokens": self.tokens, "budget": self.budget, "citations": cited}


def pack(results: Sequence[Citable], budget: int) -> Pack:
    """Whole passages in rank order while they fit; the next one cut at the end of a sentence or line."""
    left = budget * 100
    parts: list[str] = []
    cited: list[Citation] = []
    for number, result in enumerate(results, 1):
        body = result.text.strip("\n").rstrip()
        head = _head(number, result, result.lines)
        cost = cost_of(head + "\n") + cost_of(f"\n{body}\n\n")
        cut = cost > left
        lines = result.lines
        if cut:
            room = left - cost_of(head + "\n") - 200
            body = _beginning(body, room, _BOUNDARY) or ("" if parts else _beginning(body, room, _SPACE))
            if not body or (parts and cost_of(body) < WORTHWHILE * 100):
                break
            lines = _lines_of(body, result)
            head = _head(number, result, lines)
            cost = cost_of(head + "\n") + cost_of(f"\n{body}\n\n")
            if cost > left:  # a line number may have become longer
                break
        parts.append(f"{head}\n\n{body}")
        cited.append(_citation(result, lines, -(-cost // 100), cut))
        left -= cost
        if cut:
            break
    text = "\n\n".join(parts)
    return Pack(text, estimate(text), budget, tuple(cited))


def nothing_packed(budget: int) -> str:
    return f"no passage fits into {budget} tokens"


def _head(number: int, result: Citable, lines: tuple[int, int]) -> str:
    crumb = " ".join(place(result).split())
    if len(crumb) > _TITLE:
        crumb = crumb[: _TITLE - 1].rstrip() + "…"
    document = " ".join(result.document.split())
    return f"### [{number}] {crumb} ({document}:{lines[0]}-{lines[1]})"


def _beginning(text: str, room: int, boundary: re.Pattern[str]) -> str:
    """As much as fits up to a boundary; a code fence that was opened is closed."""
    ends = [match.start() for match in boundary.finditer(text) if match.start()]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if cost_of(_closed(text[: ends[middle - 1]])) <= room:
            low = middle
        else:
            high = middle - 1
    return _closed(text[: ends[low - 1]].rstrip()) if low else ""


def _closed(text: str) -> str:
    fences = [line.lstrip()[:3] for line in text.splitlines() if line.lstrip().startswith(("```", "~~~"))]
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text


def _lines_of(body: str, result: Citable) -> tuple[int, int]:
    """The lines that remain, where the passage is the source's lines one for one."""
    first, last = result.lines
    if result.text.count("\n") != last - first:
        return result.lines
    return first, min(last, first + body.count("\n"))


def _citation(result: Citable, lines: tuple[int, int], tokens: int, cut: bool) -> Citation:
    return Citation(result.id, result.document, result.title, result.headings, result.path, lines, tokens, cut)
