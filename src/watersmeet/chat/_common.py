"""Helpers of chat models: messages that every endpoint accepts, and one streaming request with its errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from watersmeet.common.encodable import clean
from watersmeet.common.http import Client, Reply, Stream
from watersmeet.common.redaction import excerpt, secrets_of, shown
from watersmeet.common.server_sent_events import EventTooLarge, events
from watersmeet.core.chat import Message
from watersmeet.core.errors import ModelMissing, ModelProblem, NoReply

MAX_BYTES = 16 << 20
"""Bytes of a reply with all its events."""
_DONE = "[DONE]"
LATER = "is the endpoint up? try again later"


def usable(messages: Sequence[Message]) -> list[Message]:
    """Messages that can be sent, without blank ones; `ModelProblem` if nobody says anything."""
    found = [replace(message, text=clean(message.text)) for message in messages if message.text.strip()]
    if not any(message.role == "user" for message in found):
        raise ModelProblem("there is nothing to reply to", "give at least one message of the user that is not blank")
    return found


def turns(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The system's text, and the other messages as turns: the user first, then both in alternation."""
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    found: list[Message] = []
    for message in messages:
        if message.role == "system" or (message.role == "assistant" and not found):
            continue
        if found and found[-1].role == message.role:
            found[-1] = replace(message, text=f"{found[-1].text}\n\n{message.text}")
        else:
            found.append(message)
    return system, found


def http_client(timeout: float, deadline: float, retries: int, backoff: float) -> Client:
    """Client without a guard: the user has chosen the endpoint, and it may be on this machine."""
    return Client(guard=None, timeout=timeout, deadline=deadline, retries=retries, backoff=backoff, max_bytes=MAX_BYTES)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A chat endpoint that answers with server-sent events; `setting` and `key_variable` are for hints."""

    url: str
    model: str
    setting: str
    key_variable: str
    client: Client
    headers: Mapping[str, str] = field(repr=False)

    def replies(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The JSON objects of the answer, as they arrive. Closing the iterator closes the connection."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **self.headers}
        try:
            answer = self.client.stream(self.url, json.dumps(body).encode(), headers)
            if isinstance(answer, Reply):
                raise self._refused(answer)
            with answer:
                yield from self._objects(answer)
        except NoReply as problem:
            raise ModelProblem(str(problem), f"{problem.hint} ({self.setting}.base_url)") from problem
        except EventTooLarge:
            raise self.problem("sent an event that is too large", LATER) from None

    def _objects(self, answer: Stream) -> Iterator[dict[str, Any]]:
        if "json" in (answer.headers.get("Content-Type") or ""):  # it does not stream, or reports an error
            yield self._checked(b"".join(answer).decode(errors="replace"))
            return
        for event in events(answer):
            if event.data == _DONE:
                return
            yield self._checked(event.data)

    def _checked(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self.problem(f"sent something that is not a JSON object: {text}", f"check {self.setting}.base_url")
        if error := found.get("error"):
            message = error.get("message") if isinstance(error, dict) else error
            raise self.problem(f"reports an error: {message}", LATER)
        return found

    def problem(self, what: str, hint: str) -> ModelProblem:
        """An error with text of the endpoint in it."""
        return ModelProblem(f"{shown(self.url)} {excerpt(what, secrets_of(self.url, self.headers))}", hint)

    def cut_off(self) -> ModelProblem:
        return self.problem("ended the reply before it was complete", LATER)

    def withheld(self, why: str) -> ModelProblem:
        return self.problem(f"withheld the reply ({why})", "ask in other words, or use another model")

    def _refused(self, reply: Reply) -> ModelProblem:
        if reply.status in (401, 403):
            return ModelProblem(reply.error, f"set {self.key_variable} to a valid key")
        if reply.status == 404:
            return ModelMissing(
                reply.error, f"check {self.setting}.base_url and model ({self.model}): does the endpoint have it?"
            )
        if reply.status == 429:
            return ModelProblem(reply.error, "too many requests, or the quota is used up: try again later")
        if reply.retryable:
            return ModelProblem(reply.error, LATER)
        return ModelProblem(
            reply.error, f"check [{self.setting}] (model {self.model}); if it was too much text, send less"
        )
