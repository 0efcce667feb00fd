"""REST routes for answers: `/api/chat`, and `/v1/chat/completions` for programs that speak OpenAI's API."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from threading import Event
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from watersmeet.core.errors import ConfigError, WatersmeetError
from watersmeet.core.token_count import estimate
from watersmeet.engine.ask.ask import OnText
from watersmeet.engine.ask.model import AnswerText, Turn
from watersmeet.face import shapes
from watersmeet.face.ask import AskParams
from watersmeet.face.rest import problems
from watersmeet.face.rest.replies import answer, caller, disconnected, problem_responses, reply, service_of
from watersmeet.face.schema import from_body

router = APIRouter()
EVENTS = "text/event-stream"
ALIVE_SECONDS = 15.0
"""After so long without text, a comment is sent, so that a proxy does not close the connection."""
MODEL = "watersmeet"
"""The name of the model that `/v1` offers."""

Asking = Callable[[Event, OnText | None], AnswerText]
Format = Callable[[str | AnswerText | Exception], list[str]]
"""Server-sent events for a part of the text, the whole answer, or an error."""
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_EVENT_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {EVENTS: {}}, "description": "The answer"}}


@router.post(
    "/api/chat",
    response_model=shapes.ChatAnswer,
    responses={**_EVENT_STREAM, **problem_responses(404)},
    summary="Answer a question, with citations",
)
async def chat(body: shapes.ChatBody, request: Request) -> Response:
    """An answer from the documents. Each citation is checked; if no passage fits, the answer says so.

    As server-sent events: `text` with a part of the text, then `answer` with the whole; or `error`."""
    service, who = service_of(request), caller(request)
    params, conversation = from_body(AskParams, body), body.conversation_id
    sent = [Turn(one.question, one.answer, one.query) for one in body.history]
    if sent and conversation:
        raise ConfigError("a question has either a history or a conversation_id", "leave one of them out")

    def asking(stop: Event, on_text: OnText | None) -> AnswerText:
        history = service.conversations.turns(who.key, conversation) if conversation else sent
        made = service.ask(params, who.viewer, stop, on_text, history)
        if conversation:
            service.conversations.add(who.key, conversation, made.turn)
        return made

    def as_json(made: AnswerText) -> dict[str, Any]:
        return {**made.to_json(), "conversation_id": conversation}

    def events(item: str | AnswerText | Exception) -> list[str]:
        if isinstance(item, str):
            return [_event("text", {"text": item})]
        if isinstance(item, AnswerText):
            return [_event("answer", as_json(item))]
        return [_event("error", _problem(item, request))]

    stream = body.stream
    if stream if stream is not None else EVENTS in request.headers.get("accept", ""):
        return await _streamed(request, asking, events)
    return await answer(request, lambda stop: as_json(asking(stop, None)), answers=True)


@router.get("/v1/models", responses=problem_responses(), summary="The model that /v1/chat/completions offers")
async def models() -> Response:
    return reply({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}]})


@router.post(
    "/v1/chat/completions",
    response_model=shapes.Completion,
    responses={**_EVENT_STREAM, **problem_responses(404)},
    summary="Answer a question, in the form of OpenAI's API",
)
async def completions(body: shapes.CompletionBody, request: Request) -> Response:
    """The last message is the question, those before it are the conversation. `citations` is beside `choices`."""
    service, who = service_of(request), caller(request)
    question, history = _conversation(body.messages)
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": MODEL}

    def asking(stop: Event, on_text: OnText | None) -> AnswerText:
        return service.ask(AskParams(question), who.viewer, stop, on_text, history)

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return _data({**head, "object": "chat.completion.chunk", "choices": choices, **more})

    def events(item: str | AnswerText | Exception) -> list[str]:
        if isinstance(item, str):
            return [chunk({"role": "assistant", "content": item})]
        if isinstance(item, AnswerText):
            return [chunk({}, "stop", **_beside(item)), "data: [DONE]\n\n"]
        found = _problem(item, request)
        return [_data({"error": {"message": f"{found['detail']}; {found['hint']}", "code": found["status"]}})]

    if body.stream:
        return await _streamed(request, asking, events)

    def whole(stop: Event) -> dict[str, Any]:
        made = asking(stop, None)
        message = {"role": "assistant", "content": made.answer}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return {**head, "object": "chat.completion", "choices": choices, **_beside(made)}

    return await answer(request, whole, answers=True)


def _conversation(messages: list[shapes.CompletionMessage]) -> tuple[str, list[Turn]]:
    """The question, and the turns before it."""
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise ConfigError("the last message is no question", "its role must be `user`, with text in `content`")
    turns: list[Turn] = []
    for one in messages[:-1]:
        if one.role == "user":
            turns.append(Turn(one.text))
        elif one.role == "assistant" and turns:
            turns[-1] = Turn(turns[-1].question, one.text)
    return messages[-1].text, turns


def _beside(made: AnswerText) -> dict[str, Any]:
    """What an answer has beside OpenAI's fields, and the number of its tokens."""
    found = made.to_json()
    usage = {"prompt_tokens": made.tokens, "completion_tokens": estimate(made.answer)}
    usage["total_tokens"] = sum(usage.values())
    beside = ("citations", "supported", "no_good_match", "confidence", "nearest", "took_ms")
    return {"usage": usage, **{name: found[name] for name in beside}}


# ---------------------------------------------------------------- server-sent events


async def _streamed(request: Request, asking: Asking, events: Format) -> Response:
    """A stream of events. What goes wrong before the first text is an error as without a stream; when the client
    disconnects, the model is stopped."""
    loop, items = asyncio.get_running_loop(), asyncio.Queue[str | AnswerText | Exception]()

    def on_text(text: str) -> None:
        loop.call_soon_threadsafe(items.put_nowait, text)

    def work(stop: Event) -> AnswerText:
        return asking(stop, on_text)

    async def run() -> None:
        try:
            items.put_nowait(await service_of(request).run(work, answers=True))
        except Exception as error:  # noqa: BLE001 - a stream's outermost handler: it is passed on as an event
            items.put_nowait(error)

    running = asyncio.ensure_future(run())
    gone = asyncio.ensure_future(disconnected(request))
    try:
        first = await _next(items, gone, None)
        if isinstance(first, Exception):
            raise first
    except BaseException:
        running.cancel()
        gone.cancel()
        raise

    async def stream() -> AsyncIterator[str]:
        item: str | AnswerText | Exception | None = first
        try:
            while item is not None:
                for event in events(item):
                    yield event
                if not isinstance(item, str):
                    return
                while (item := await _next(items, gone, ALIVE_SECONDS)) == "":
                    yield ": waiting\n\n"
        finally:
            running.cancel()
            gone.cancel()

    return StreamingResponse(stream(), media_type=EVENTS, headers=_HEADERS)


async def _next(
    items: asyncio.Queue[str | AnswerText | Exception], gone: asyncio.Future[None], seconds: float | None
) -> str | AnswerText | Exception | None:
    """The next item; an empty text if none came in time, nothing if the client has gone."""
    getting = asyncio.ensure_future(items.get())
    done, _ = await asyncio.wait((getting, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if getting in done:
        return getting.result()
    getting.cancel()
    return None if gone in done else ""


def _problem(error: Exception, request: Request) -> dict[str, Any]:
    """An error as in a response without a stream."""
    response = problems.of(error) if isinstance(error, WatersmeetError) else problems.defect(error)
    text = bytes(response.body).decode()
    found: dict[str, Any] = json.loads(text if caller(request).is_local else service_of(request).without_folder(text))
    return found


def _event(name: str, value: Any) -> str:
    return f"event: {name}\n{_data(value)}"


def _data(value: Any) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
