"""The test double of a chat model."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.core.chat import Chat, Message
from watersmeet.core.errors import ModelProblem
from watersmeet.testing import ScriptedChat
from watersmeet.testing.contracts.chat import QUESTION, ChatContract


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self) -> Chat:
        return ScriptedChat(always="Hello, harbour.")

    @pytest.fixture
    def broken(self) -> Chat:
        return ScriptedChat(always=ModelProblem("busy", "try again later"))


def test_replies_follow_the_script_and_requests_are_recorded() -> None:
    chat = ScriptedChat(["One.  Two\n three ", ModelProblem("busy"), lambda messages: messages[-1].text.upper()])
    assert list(chat.stream([QUESTION], 5)) == ["One.", "  Two", "\n three "]
    with pytest.raises(ModelProblem, match="busy"):
        list(chat.stream([QUESTION], 6))
    assert list(chat.stream([Message("user", "quiet")], 7)) == ["QUIET"]
    assert "".join(chat.stream([QUESTION], 8)) == "I do not know."
    assert chat.limits == [5, 6, 7, 8]
    assert chat.requests[2] == (Message("user", "quiet"),)


def test_a_cancelled_reply_is_counted() -> None:
    chat = ScriptedChat(["one two three"])
    pieces: Any = chat.stream([QUESTION], 5)
    next(pieces)
    pieces.close()
    assert chat.closed == 1


def test_white_space_is_kept() -> None:
    for reply in ("", " ", "a\n\n", "\n\na b"):
        assert "".join(ScriptedChat([reply]).stream([QUESTION], 5)) == reply
