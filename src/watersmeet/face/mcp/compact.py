"""Answers in few tokens: what an agent reads of a search, a document or its neighbours unless it asks for all of it.

Texts are in the answer once, in the context pack; a result has what it takes to cite or open it. Fields without a value
are left out. A client may show a model the structured answer only, or the text only: each says everything that matters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

NEAREST = 2
"""So many passages if nothing fits."""
_SCORE_DIGITS = 3
_CONFIDENCE_DIGITS = 2
_ANSWER = ("mode", "recipe", "confidence_words", "no_good_match", "failures", "stale", "notes", "indexing", "version")
_EXPLAINED = ("why_not", "spelling", "operators", "routed", "expansion", "timings")
_PACK = ("text", "tokens", "budget", "document_tokens", "saved_tokens")
_DOCUMENT = ("document", "title", "path", "where", "text", "fields", "file_missing")


def compact_answer(found: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a search or of related documents, in few tokens."""
    packed = found.get("pack")
    cited = len(packed["citations"]) if packed else 0
    made: dict[str, Any] = {
        "results": [compact_result(one, at >= cited) for at, one in enumerate(found["results"])],
        **_having(found, (*_ANSWER, *_EXPLAINED)),
        "no_good_match": found["no_good_match"],
    }
    if found.get("confidence") is not None:
        made["confidence"] = round(found["confidence"], _CONFIDENCE_DIGITS)
    if packed:
        made["pack"] = {**_having(packed, _PACK), "cut": any(one["cut"] for one in packed["citations"])}
    return made


def compact_result(result: Mapping[str, Any], titled: bool = False) -> dict[str, Any]:
    """What it takes to cite or open a result. `titled`: with its title, since no passage of the pack shows it."""
    made = {
        "id": result["id"],
        "document": result["document"],
        **_having(result, ("where", "index")),
        "score": round(result["score"], _SCORE_DIGITS),
    }
    if result["kind"] != "document":
        made["kind"] = result["kind"]
    if titled:
        made["title"] = " > ".join(dict.fromkeys(filter(None, (result["title"], *result["headings"][-1:]))))
    return made | _having(result, ("why",))


def compact_document(found: Mapping[str, Any]) -> dict[str, Any]:
    return _having(found, _DOCUMENT)


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
