"""Extractive answers: no chat model at all. The sentences are chosen by `present/extract.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from watersmeet.core.chat import Message
from watersmeet.core.errors import ModelProblem


@dataclass(frozen=True, slots=True)
class Extractive:
    """The choice of no model: answers are quotes. It is never sent messages, since a prompt is no list of passages."""

    @property
    def name(self) -> str:
        return "extractive"

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        raise ModelProblem(
            "without a model, there are quotes of the documents and no conversation",
            "name a chat model in the settings: docs/how-to/chat-models.md",
        )
