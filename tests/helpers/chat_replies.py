"""Replies of chat endpoints, as they are on the wire; steps for `web.Site`."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from web import Step

WORDS = ("Hello", ", ", "häfen", " 🌊", ".")


def sent(*parts: bytes, content: str = "text/event-stream", end: bool = True) -> Step:
    """Parts of an answer, each a chunk of its own; without `end` the connection is cut after them."""

    def step(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n" % content.encode())
        handler.wfile.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            handler.wfile.flush()
        if end:
            handler.wfile.write(b"0\r\n\r\n")

    return step


def event(data: Any, name: str = "") -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


def openai(*words: str, finish: str | None = "stop") -> list[bytes]:
    """A reply of `/chat/completions`: the role first, the end and the usage last."""
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}]}
    pieces = [{"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in words]
    last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    usage = {"choices": [], "usage": {"total_tokens": 9}}
    return [b": keep-alive\n\n", *map(event, (first, *pieces, *last, usage)), event("[DONE]")]


def anthropic(*words: str, finish: str | None = "end_turn") -> list[bytes]:
    """A reply of `/v1/messages`."""
    pieces: list[dict[str, Any]] = [{"type": "message_start", "message": {"role": "assistant", "content": []}}]
    pieces += [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
    pieces += [{"type": "ping"}]
    for word in words:
        pieces.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}})
    pieces += [{"type": "content_block_stop", "index": 0}]
    if finish:
        pieces += [{"type": "message_delta", "delta": {"stop_reason": finish}}, {"type": "message_stop"}]
    return [event(piece, piece["type"]) for piece in pieces]


def bedrock(*words: str, finish: str | None = "end_turn") -> list[bytes]:
    """A reply of Converse: an AWS event stream."""
    frames = [frame("messageStart", {"role": "assistant"})]
    frames += [frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}}) for word in words]
    frames += [frame("contentBlockStop", {"contentBlockIndex": 0})]
    if finish:
        frames += [frame("messageStop", {"stopReason": finish})]
        frames += [frame("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}})]
    return frames


def frame(name: str, payload: Mapping[str, Any], kind: str = "event") -> bytes:
    """A message of an AWS event stream: lengths and headers with checksums."""
    stated = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(
        struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for key, value in stated.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack("!I", zlib.crc32(message))
