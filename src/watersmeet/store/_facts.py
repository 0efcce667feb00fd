"""What the catalogue says of itself, and which document a link means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from watersmeet.core.model import DocId


def statistics(ask: Callable[..., list[Any]], where: str, values: Sequence[Any]) -> dict[str, Any]:
    """How much there is of everything, as far as the condition lets it be seen."""
    seen = f"WHERE {where}" if where else ""
    joined = f"JOIN documents d ON d.id = c.document {seen}" if where else ""
    return {
        "documents": ask(f"SELECT count(*) FROM documents d {seen}", values)[0][0],
        "chunks": ask(f"SELECT count(*) FROM chunks c {joined}", values)[0][0],
        "dead": ask("SELECT count(*) FROM dead")[0][0],
        "kinds": dict(ask(f"SELECT kind, count(*) FROM documents d {seen} GROUP BY kind ORDER BY kind", values)),
        "collections": dict(
            ask(
                "SELECT k.name, count(d.id) FROM collections k LEFT JOIN documents d ON d.collection = k.id"
                f" {'AND ' + where if where else ''} GROUP BY k.id ORDER BY k.name",
                values,
            )
        ),
        "roots": [path for (path,) in ask("SELECT path FROM roots ORDER BY id")],
    }


def closest(rows: list[tuple[DocId, DocId, str, str, int]]) -> list[tuple[DocId, DocId, str]]:
    """Of several documents that a link may mean: the same folder, then the closest name, then the shortest path."""
    best: dict[tuple[DocId, str, str], tuple[tuple[bool, int, int, str], DocId]] = {}
    for source, target, type, key, rank in rows:
        elsewhere = source.rpartition("/")[0] != target.rpartition("/")[0]
        order = (elsewhere, rank, len(target), target)
        link = (source, key, type)
        if link not in best or order < best[link][0]:
            best[link] = (order, target)
    return list({(source, target, type): None for (source, _, type), (_, target) in best.items()})
