"""The port of a chat model: messages in, text out as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Role
    text: str


class Chat(Protocol):
    """A chat model. It raises `ModelProblem` if it cannot answer, also in the middle of a stream."""

    @property
    def name(self) -> str:
        """The model's name, as an answer states it."""
        ...

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        """The reply in pieces, as they arrive; close the iterator to cancel it."""
        ...
