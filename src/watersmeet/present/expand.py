"""Expansion of results to their whole section or page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from watersmeet.core.model import ChunkId, DocId, Passage, Result
from watersmeet.core.place import joined
from watersmeet.core.token_count import estimate
from watersmeet.present.reassemble import join_texts, reassemble


class Page(NamedTuple):
    """All passages of a document in order, and its irregular heading levels (`irregular_levels`)."""

    passages: Sequence[Passage]
    levels: Mapping[str, int] | None = None


def expand(
    results: Sequence[Result], how: str, page_of: Callable[[DocId], Page], most: int | None = None
) -> tuple[Result, ...]:
    """Results with the other passages of their section or page, up to `most` tokens. A passage is shown once: a result
    that is shown with a better one is left out."""
    shown: set[ChunkId] = set()
    pages: dict[DocId, Page] = {}
    expanded = []
    for result in results:
        if result.id in shown:
            continue
        if result.document not in pages:
            pages[result.document] = page_of(result.document)
        page = pages[result.document]
        part = _around(result, page.passages, how, shown, most)
        shown.update(one.id for one in part)
        expanded.append(_whole(result, part, page.levels) if len(part) > 1 else result)
    return tuple(expanded)


def _around(
    result: Result, passages: Sequence[Passage], how: str, shown: set[ChunkId], most: int | None
) -> Sequence[Passage]:
    """Contiguous passages of a section or page around a result, added on both sides in turn."""

    def belongs(at: int) -> bool:
        if not 0 <= at < len(passages) or passages[at].id in shown:
            return False
        headings, path = result.headings, passages[at].headings
        return how == "page" or (path[: len(headings)] == headings if headings else not path)

    here = next((at for at, one in enumerate(passages) if one.id == result.id), None)
    if here is None:
        return ()
    first = last = here
    left = None if most is None else most - _cost(passages[here])
    sides = [1, -1]
    while sides:
        side = sides.pop(0)
        at = last + 1 if side > 0 else first - 1
        if not belongs(at) or (left is not None and (left := left - _cost(passages[at])) < 0):
            continue
        first, last = min(first, at), max(last, at)
        sides.append(side)
    return passages[first : last + 1]


def _cost(passage: Passage) -> int:
    return estimate("\n\n".join((*passage.headings[-1:], passage.text, "")))


def _whole(result: Result, part: Sequence[Passage], levels: Mapping[str, int] | None) -> Result:
    same = len({one.headings for one in part}) == 1
    text = join_texts(part) if same else reassemble(result.title, part, levels)
    return replace(result, text=text, place=joined([one.place for one in part]))
