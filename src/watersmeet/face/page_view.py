"""What the page shows of a search: the contract's JSON, with a snippet of each result in place of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watersmeet.engine.query.reading import file_type
from watersmeet.present.rich_text import form_of, rich_text
from watersmeet.present.snippet import snippet
from watersmeet.present.web_address import web_address

if TYPE_CHECKING:
    from watersmeet.core.model import Result
    from watersmeet.face.search import SearchReply

WIDTH = 300
"""Characters of a line of a snippet."""


def search_view(reply: SearchReply) -> dict[str, Any]:
    found = reply.to_json()
    query = reply.answer.query
    for one, result in zip(found["results"], reply.shown, strict=True):
        one |= _shown(result, query)
        del one["text"]
        one.pop("why", None)
    return found


def _shown(result: Result, query: str) -> dict[str, Any]:
    lines = snippet(result.text, query, WIDTH)
    return {
        "snippet": rich_text("\n".join(lines), form_of(result.kind, result.document, result.path)),
        "address": web_address(result.path, result.place, result.text),
        "file": file_type(result.path),
        "page": result.place.pages[0] if result.place.pages else 0,
    }
