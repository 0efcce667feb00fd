"""What the catalogue says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


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
    }
