"""Which document a link means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from watersmeet.core.model import DocId


class Resolver:
    """Of several documents that a link may mean: the same folder, then the closest name, then the shortest path.

    `named`: (key, document, rank of that name) of all that go by the keys."""

    def __init__(self, named: Iterable[tuple[str, DocId, int]]) -> None:
        everywhere: defaultdict[str, list[tuple[int, int, DocId]]] = defaultdict(list)
        for key, document, rank in named:
            everywhere[key].append((rank, len(document), document))
        self._everywhere: dict[str, list[DocId]] = {}
        self._beside: defaultdict[tuple[str, str], list[DocId]] = defaultdict(list)
        for key, found in everywhere.items():
            self._everywhere[key] = [document for _, _, document in sorted(found)]
            for document in self._everywhere[key]:
                self._beside[key, document.rpartition("/")[0]].append(document)

    def closest(self, source: DocId, key: str) -> DocId | None:
        """None if nothing but the document itself goes by this name."""
        beside = self._beside.get((key, source.rpartition("/")[0]), ())
        for candidates in (beside, self._everywhere.get(key, ())):
            for document in candidates:
                if document != source:
                    return document
        return None


def resolved(rows: Sequence[tuple[DocId, DocId, str, str, int]]) -> list[tuple[DocId, DocId, str]]:
    """Links as (from, to, type), each once, of rows of (from, what it may mean, type, key, rank)."""
    resolver = Resolver({(key, target, rank): None for _, target, _, key, rank in rows})
    found: dict[tuple[DocId, DocId, str], None] = {}
    for source, key, type in dict.fromkeys((source, key, type) for source, _, type, key, _ in rows):
        target = resolver.closest(source, key)
        if target is not None:
            found[source, target, type] = None
    return list(found)
