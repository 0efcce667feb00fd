"""What the page shows of a search: the contract's JSON, with a snippet of each result in place of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watersmeet.core.names import CODE
from watersmeet.engine.query.reading import file_type
from watersmeet.present.rich_text import MARKDOWN, form_of, rich_text
from watersmeet.present.snippet import excerpt
from watersmeet.present.web_address import web_address

if TYPE_CHECKING:
    from watersmeet.core.model import Result
    from watersmeet.face.search import SearchReply


def search_view(reply: SearchReply) -> dict[str, Any]:
    found = reply.to_json()
    query = reply.answer.query
    for one, result in zip(found["results"], reply.shown, strict=True):
        one |= _shown(result, query)
        del one["text"]
        one.pop("why", None)
    return found


def _shown(result: Result, query: str) -> dict[str, Any]:
    form = form_of(result.kind, result.document, result.path)
    return {
        "snippet": rich_text(
            excerpt(result.text, query, kind=result.kind),
            MARKDOWN if form == CODE else form,  # an excerpt of code is a fence
        ),
        "address": web_address(result.path, result.place, result.text),
        "file": file_type(result.path),
        "page": result.place.pages[0] if result.place.pages else 0,
    }
