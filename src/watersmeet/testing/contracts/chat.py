"""The contract of `Chat`: a streamed reply that can be cancelled, and errors that say what to do.

Subclass it with the fixtures `chat`, a model that replies to everything, and `broken`, one that cannot.
"""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.core.chat import Chat, Message
from watersmeet.core.errors import ModelProblem

QUESTION = Message("user", "Say hello to the harbour.")
CONVERSATION = (
    Message("system", "You are brief."),
    Message("user", "What is a tern?"),
    Message("assistant", "A bird."),
    Message("user", "Where does it live?"),
)
ODD_ORDERS = (
    (Message("assistant", "Welcome."), QUESTION),
    (QUESTION, Message("user", "And to the boats.")),
    (Message("system", "Be brief."), QUESTION, Message("system", "Be polite.")),
    (QUESTION, Message("assistant", " "), QUESTION),
)
ODD_TEXTS = (
    "Möwen über dem Hafen 🌊",
    "漢字かな交じり文",
    "a\0b",
    "\ud800 lone",
    "\u202e right to left",
    '"}]}\n\ndata: x',
)
NOTHING: tuple[tuple[Message, ...], ...] = ((), (Message("user", " \n"),), (Message("system", "Be brief."),))
MAX_TOKENS = 12


class ChatContract:
    @pytest.fixture
    def chat(self) -> Chat:
        raise NotImplementedError("the contract of a chat model needs the fixture `chat`")

    @pytest.fixture
    def broken(self) -> Chat:
        raise NotImplementedError("the contract of a chat model needs the fixture `broken`: a model that cannot reply")

    def _reply(self, chat: Chat, *messages: Message) -> str:
        pieces = list(chat.stream(messages, MAX_TOKENS))
        assert all(isinstance(piece, str) and piece for piece in pieces)
        text = "".join(pieces)
        assert text.encode()
        return text

    def test_it_has_a_name(self, chat: Chat) -> None:
        assert chat.name

    def test_a_reply_arrives_in_pieces(self, chat: Chat) -> None:
        assert len(list(chat.stream([QUESTION], MAX_TOKENS))) > 1
        assert self._reply(chat, QUESTION).strip()

    def test_a_conversation_is_continued(self, chat: Chat) -> None:
        assert self._reply(chat, *CONVERSATION)

    @pytest.mark.parametrize("messages", ODD_ORDERS, ids=["assistant first", "user twice", "two systems", "blank"])
    def test_messages_in_any_order(self, chat: Chat, messages: tuple[Message, ...]) -> None:
        assert self._reply(chat, *messages)

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=[ascii(text[:8]) for text in ODD_TEXTS])
    def test_any_text_can_be_sent(self, chat: Chat, text: str) -> None:
        assert self._reply(chat, Message("user", text))

    @pytest.mark.parametrize("messages", NOTHING, ids=["none", "blank", "only a system"])
    def test_nothing_to_reply_to_is_an_error(self, chat: Chat, messages: tuple[Message, ...]) -> None:
        with pytest.raises(ModelProblem) as caught:
            list(chat.stream(messages, MAX_TOKENS))
        assert caught.value.hint

    def test_a_reply_can_be_cancelled(self, chat: Chat) -> None:
        pieces: Any = chat.stream([QUESTION], MAX_TOKENS)
        assert next(pieces)
        pieces.close()
        assert list(pieces) == []
        unread: Any = chat.stream([QUESTION], MAX_TOKENS)
        unread.close()
        assert self._reply(chat, QUESTION)

    def test_two_replies_do_not_mix(self, chat: Chat) -> None:
        first, second = chat.stream([QUESTION], MAX_TOKENS), chat.stream([QUESTION], MAX_TOKENS)
        begun = [next(first), next(second)]
        rest = ["".join(first), "".join(second)]
        assert all(one + other for one, other in zip(begun, rest, strict=True))

    def test_a_failure_says_what_to_do(self, broken: Chat) -> None:
        with pytest.raises(ModelProblem) as caught:
            list(broken.stream([QUESTION], MAX_TOKENS))
        assert str(caught.value)
        assert caught.value.hint
