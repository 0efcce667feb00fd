"""Answers in few tokens: what an agent reads of a search, a document or its neighbours unless it asks for all of it.

An answer has the fields of every search answer, without evidence. Texts are in it once, in the context pack; a result
that is not in the pack has a line of its text. A client may show a model the structured answer only, or the text only:
each says everything that matters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from watersmeet.present.snippet import snippet

NEAREST = 2
"""So many passages if nothing fits."""
_SCORE_DIGITS = 4
_CONFIDENCE_DIGITS = 2
_LINE = 120
_ANSWER = ("query", "mode", "recipe", "results", "failures", "confidence", "confidence_words", "no_good_match", "stale")
_EXTRA = (
    "notes",
    "indexing",
    "version",
    "why_not",
    "spelling",
    "operators",
    "routed",
    "expansion",
    "facets",
    "timings",
    "counts",
)
_RESULT = ("id", "document", "kind", "title", "headings", "path", "where", "lines", "text", "score")
_RESULT_EXTRA = ("index", "why")
_PACK = ("text", "tokens", "budget", "document_tokens", "saved_tokens")
_DOCUMENT = ("document", "kind", "title", "path", "text", "fields")
_DOCUMENT_EXTRA = ("where", "file_missing")


def compact_answer(found: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a search or of related documents, in few tokens."""
    packed = found.get("pack")
    cited = len(packed["citations"]) if packed else 0
    made = {name: found[name] for name in _ANSWER} | {"took_ms": round(found["took_ms"])} | _having(found, _EXTRA)
    made["results"] = [
        compact_result(one, "" if at < cited else found["query"]) for at, one in enumerate(found["results"])
    ]
    if found["confidence"] is not None:
        made["confidence"] = round(found["confidence"], _CONFIDENCE_DIGITS)
    if packed:
        made["pack"] = {**_having(packed, _PACK), "cut": any(one["cut"] for one in packed["citations"])}
    return made


def compact_result(result: Mapping[str, Any], query: str = "") -> dict[str, Any]:
    """What it takes to cite or open a result. `query`: with the line of its text that matches it best; without, the
    text is in the pack."""
    made = {name: result[name] for name in _RESULT} | {"score": round(result["score"], _SCORE_DIGITS)}
    made["text"] = next(iter(snippet(result["text"], query, _LINE, 1, result["kind"])), "") if query else ""
    return made | _having(result, _RESULT_EXTRA)


def compact_document(found: Mapping[str, Any]) -> dict[str, Any]:
    """A document without its links and chunks."""
    return {name: found[name] for name in _DOCUMENT} | _having(found, _DOCUMENT_EXTRA)


def compact_dumps(value: Any) -> str:
    """The JSON of an answer, or of one part of it, in few tokens: what it costs against a budget."""
    if isinstance(value, dict):
        if "results" in value:
            value = compact_answer(value)
        elif "evidence" in value:
            value = compact_result(value)
        else:  # a citation: its result stands for it
            return ""
    return json.dumps(value, ensure_ascii=False)


def _having(found: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of these names that have a value."""
    return {name: value for name in names if (value := found.get(name)) not in (None, "", [], {}, False)}
