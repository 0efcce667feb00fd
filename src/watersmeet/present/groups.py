"""Results for reading: grouped by document, near copies folded, and cut where scores drop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Answer, ChunkId, Result
from watersmeet.core.near_copies import near_copies

DOCUMENTS = 5
"""Documents that are shown if no number is given."""
CLOSEST = 2
"""Documents that are shown if nothing fits."""
DROP = 0.5
"""Share of the best fused score: what stands after the last document that reaches it is not shown."""
FURTHER = 2
"""Passages of a document that are named below its best one."""
COPIES = 3
"""Documents that are named for a text that is in several."""
PER_DOCUMENT = 4
"""Passages to search for, for each document that is shown."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """A document in the results: its passages, the best one first, and near copies of these in other documents."""

    results: tuple[Result, ...]
    copies: tuple[Result, ...] = ()

    @property
    def best(self) -> Result:
        return self.results[0]

    @property
    def fused(self) -> float:
        return max(result.fusion_score for result in self.results)


def passages_for(documents: int | None) -> int:
    """How many passages to search for, to show so many documents."""
    return min(1000, PER_DOCUMENT * (documents or DOCUMENTS))


def same_text(results: Iterable[Result]) -> dict[ChunkId, list[Result]]:
    """Near copies among results, by the result that they repeat."""
    results = list(results)
    keeper = near_copies(results)
    found: dict[ChunkId, list[Result]] = {}
    for result in results if keeper else ():
        if result.id in keeper:
            found.setdefault(keeper[result.id], []).append(result)
    return found


def grouped(results: Sequence[Result]) -> list[Group]:
    """Documents in the order of their best passages. A near copy is listed with the passage that it repeats."""
    copies = same_text(results)
    folded = {copy.id for ones in copies.values() for copy in ones}
    documents: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.id not in folded:
            documents.setdefault((result.index, result.document), []).append(result)
    return [
        Group(
            tuple(ones), tuple(copy for one in ones for copy in copies.get(one.id, ()) if copy.document != one.document)
        )
        for ones in documents.values()
    ]


def shown(answer: Answer, most: int | None = None) -> tuple[list[Group], int]:
    """The documents to show, and how many more were found. `most`: as many as were asked for; none: a few, fewer
    where scores drop or nothing fits."""
    found = grouped(answer.results)
    if most is None:
        kept = found[: CLOSEST if answer.no_good_match else DOCUMENTS]
        kept = kept[: before_drop([group.fused for group in kept])]
    else:
        kept = found[:most]
    return kept, len(found) - len(kept)


def further(group: Group) -> list[str]:
    """Lines below the best passage of a document: the places of others in it, and copies in other documents."""
    others = group.results[1:]
    lines = [f"also {one.where} {' > '.join(one.headings[-1:]) or one.title}" for one in others[:FURTHER]]
    if len(others) > FURTHER:
        lines.append(f"{len(others) - FURTHER} more in this document")
    names = list(dict.fromkeys(copy.document for copy in group.copies))
    if names:
        rest = f" and {len(names) - COPIES} more" if len(names) > COPIES else ""
        lines.append(f"the same text also in: {', '.join(names[:COPIES])}{rest}")
    return lines


def before_drop(scores: Sequence[float], share: float = DROP) -> int:
    """How many of these scores stand before all others drop below this share of the best."""
    best = max(scores, default=0.0)
    if best <= 0:
        return len(scores)
    return max(number for number, score in enumerate(scores, 1) if score >= share * best)
