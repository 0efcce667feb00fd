"""Passages of one document read in one piece, under the headings that they were found under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from watersmeet.core.model import ChunkId, Hit, Passage


def whole(title: str, passages: Sequence[Passage]) -> str:
    """Their text in one piece."""
    parts: list[str] = []
    above: tuple[str, ...] = ()
    for passage in passages:
        top = 1 if passage.headings[:1] == (title,) else 2  # the title may be the file's name
        written = {line.lstrip("# ").rstrip() for line in passage.text.splitlines() if line.startswith("#")}
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(above, passage.headings, strict=False)))
        for depth, heading in enumerate(passage.headings[kept:], kept + top):
            if heading not in written:
                parts.append(f"{'#' * min(6, depth)} {heading}")
        parts.append(passage.text)
        above = passage.headings
    return "\n\n".join(part for part in parts if part)


def in_context(hit: Hit, passages: Mapping[ChunkId, Passage]) -> Passage:
    """The hit's passage, with those around it that the stage `context` chose."""
    passage = passages[hit.chunk]
    read = [passages[chunk] for chunk in context_of(hit) if chunk in passages]
    if len(read) < 2:
        return passage
    if len({one.headings for one in read}) == 1:
        text = "\n\n".join(one.text for one in read)
    else:
        text = whole(passage.title, read)
    lines = (min(one.lines[0] for one in read), max(one.lines[1] for one in read))
    return replace(passage, text=text, lines=lines)


def context_of(hit: Hit) -> Sequence[ChunkId]:
    """The chunks that a hit is to be shown with, itself among them; empty if it stands alone."""
    return [chunk for evidence in hit.evidence for chunk in evidence.detail.get("context", ())]
