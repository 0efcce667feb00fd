"""Link resolution: the document that a link points to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile

from watersmeet.core.imports import IMPORT
from watersmeet.core.model import DocId


class Resolver:
    """Resolves a link key to a document: same folder first, then the closest name, then the shortest path. For an
    import, the nearest folder comes before the name.

    `named`: (key, document, rank of that name) of all documents with these keys."""

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
        """The target of a link; None if only the source itself has this name."""
        beside = self._beside.get((key, source.rpartition("/")[0]), ())
        everywhere = self._everywhere.get(key, ())
        if key.startswith(IMPORT) and len(everywhere) > 1:  # several packages of one name: the one nearby is meant
            everywhere = sorted(everywhere, key=lambda document: -_shared_folders(source, document))
        for candidates in (beside, everywhere):
            for document in candidates:
                if document != source:
                    return document
        return None


def _shared_folders(one: DocId, other: DocId) -> int:
    """Number of folders that two paths begin with."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def resolved(rows: Sequence[tuple[DocId, DocId, str, str, int]]) -> list[tuple[DocId, DocId, str]]:
    """Distinct links as (from, to, type), resolved from rows of (from, candidate, type, key, rank)."""
    resolver = Resolver({(key, target, rank): None for _, target, _, key, rank in rows})
    found: dict[tuple[DocId, DocId, str], None] = {}
    for source, key, type in dict.fromkeys((source, key, type) for source, _, type, key, _ in rows):
        target = resolver.closest(source, key)
        if target is not None:
            found[source, target, type] = None
    return list(found)
