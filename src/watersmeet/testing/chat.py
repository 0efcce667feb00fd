"""A chat model for tests: it replies from a script and records what it was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from watersmeet.core.chat import Message
from watersmeet.core.errors import ModelProblem

Reply = str | Exception | Callable[[Sequence[Message]], str]
"""A reply; an exception to raise; or a function that makes the reply from the messages."""


@dataclass
class ScriptedChat:
    """A chat model that gives the replies of `script` in turn, then `always`, word by word.

    `ScriptedChat(["One. [1]", ModelProblem("busy")])` replies once and then fails. `requests` are the messages of each
    call, `limits` their maximum lengths, and `closed` counts the replies that were cancelled.
    """

    script: list[Reply] = field(default_factory=list)
    always: Reply = "I do not know."
    name: str = "scripted"
    requests: list[tuple[Message, ...]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    closed: int = 0

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        if not any(message.role == "user" and message.text.strip() for message in messages):
            raise ModelProblem("there is nothing to reply to", "give at least one message of the user")
        self.requests.append(tuple(messages))
        self.limits.append(max_tokens)
        reply = self.script.pop(0) if self.script else self.always
        if isinstance(reply, Exception):
            raise reply
        try:
            yield from re.findall(r"\s*\S+\s*$|\s*\S+|\s+", reply if isinstance(reply, str) else reply(messages))
        except GeneratorExit:
            self.closed += 1
            raise
