"""Servers of embedding models for `web.Site`: each checks its protocol exactly, and embeds with a hashed model.

A request that the real service would refuse is answered as it answers it, so that a test fails.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from watersmeet.embed.hashed import Hashed
from web import Step, answer

TYPES = {str: "a text", bool: "true or false", int: "a number", list: "a list"}


def ollama(model: str = "bge-m3", dimension: int = 64, key: str = "") -> Step:
    """`POST /api/embed` of Ollama 0.40."""

    def step(handler: Any) -> None:
        body = json.loads(handler.body)
        fields = {"model": str, "input": list, "truncate": bool, "dimensions": int, "keep_alive": str}
        if handler.command != "POST" or handler.path != "/api/embed":
            answer(b"404 page not found", 404)(handler)
        elif key and handler.headers["Authorization"] != f"Bearer {key}":
            answer(b'{"error": "unauthorized"}', 401)(handler)
        elif wrong := _wrong(body, fields, ("model", "input")):
            _json({"error": wrong}, 400)(handler)
        elif body["model"].partition(":")[0] != model:
            _json({"error": f'model "{body["model"]}" not found, try pulling it first'}, 404)(handler)
        else:
            vectors = _vectors(body["input"], body.get("dimensions") or dimension)
            _json({"model": body["model"], "embeddings": vectors, "total_duration": 1, "prompt_eval_count": 1})(handler)

    return step


def openai(dimension: int = 64) -> Step:
    """`POST /v1/embeddings` of OpenAI."""

    def step(handler: Any) -> None:
        body = json.loads(handler.body)
        wrong = _wrong(body, {"model": str, "input": list, "dimensions": int}, ("model", "input"))
        if handler.path != "/v1/embeddings" or wrong:
            _json({"error": {"message": wrong or "no such path"}}, 400)(handler)
            return
        vectors = _vectors(body["input"], body.get("dimensions") or dimension)
        _json({"data": [{"index": n, "embedding": one} for n, one in enumerate(vectors)]})(handler)

    return step


def bedrock(dimension: int = 256) -> Step:
    """`POST /model/ID/invoke` of Bedrock, for Titan's and Cohere's embedding models."""

    def step(handler: Any) -> None:
        body = json.loads(handler.body)
        model = unquote(handler.path).removeprefix("/model/").removesuffix("/invoke")
        content = (handler.headers["Content-Type"], handler.headers["Accept"])
        checked = _titan if "titan" in model else _cohere
        wrong = checked(model, body) if content == ("application/json",) * 2 else f"{content} is not JSON"
        if wrong:
            headers = {"x-amzn-ErrorType": "ValidationException", "Content-Type": "application/json"}
            answer(json.dumps({"message": wrong}).encode(), 400, headers)(handler)
        elif "titan" in model:
            (vector,) = _vectors([body["inputText"]], body.get("dimensions") or dimension)
            by_type = {} if "v1" in model else {"embeddingsByType": {"float": vector}}
            _json({"embedding": vector, "inputTextTokenCount": 3, **by_type})(handler)
        else:
            vectors = _vectors(body["texts"], body.get("output_dimension") or dimension)
            shown = {"float": vectors} if "embedding_types" in body else vectors
            _json({"id": "x", "texts": body["texts"], "embeddings": shown})(handler)

    return step


def _titan(model: str, body: dict[str, Any]) -> str:
    v2: dict[str, type] = {} if "v1" in model else {"dimensions": int, "normalize": bool, "embeddingTypes": list}
    if wrong := _wrong(body, {"inputText": str, **v2}, ("inputText",)):
        return wrong
    if body.get("dimensions", 256) not in (256, 512, 1024):
        return "dimensions must be 256, 512 or 1024"
    return "" if 0 < len(body["inputText"]) <= 50_000 else "inputText is empty or too long"


def _cohere(model: str, body: dict[str, Any]) -> str:
    v3 = "-v3" in model
    later = {} if v3 else {"output_dimension": int, "max_tokens": int}
    fields = {"texts": list, "input_type": str, "truncate": str, "embedding_types": list, **later}
    if wrong := _wrong(body, fields, ("texts", "input_type")):
        return wrong
    if body["input_type"] not in ("search_document", "search_query"):
        return "input_type is not one of search"
    if body.get("truncate") not in (("NONE", "START", "END") if v3 else ("NONE", "LEFT", "RIGHT")):
        return "truncate is not one of this version"
    too_long = v3 and any(len(text) > 2048 for text in body["texts"])
    return "too many texts, or a text is too long" if too_long or not 0 < len(body["texts"]) <= 96 else ""


def _wrong(body: dict[str, Any], fields: dict[str, type], needed: tuple[str, ...]) -> str:
    """What is wrong with the fields of a request."""
    for name, value in body.items():
        if name not in fields:
            return f"extraneous key [{name}] is not permitted"
        if type(value) is not fields[name]:
            return f"{name} is not {TYPES[fields[name]]}"
    return next((f"{name} is missing" for name in needed if not body.get(name)), "")


def _vectors(texts: list[str], dimension: int) -> list[list[float]]:
    """Hashed vectors, not of length 1; a text without words has one too, as with a real model."""
    found = Hashed(dimension).embed(texts) * 3
    found[:, 0] += 0.001
    return [[float(number) for number in row] for row in found]


def _json(value: Any, status: int = 200) -> Step:
    return answer(json.dumps(value).encode(), status, {"Content-Type": "application/json"})
