"""A real model on this machine, through the OpenAI provider."""

from __future__ import annotations

import pytest

from local_model import CONTEXT_TOKENS
from watersmeet.chat.openai import OpenAI
from watersmeet.core.chat import Chat, Message
from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.testing.contracts.chat import QUESTION, ChatContract

pytestmark = pytest.mark.model

PATIENCE = 300.0


def model(url: str) -> OpenAI:
    return OpenAI(base_url=url, model="smollm2", timeout=PATIENCE, deadline=PATIENCE)


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self, local_model: str) -> Chat:
        return model(local_model)

    @pytest.fixture
    def broken(self, local_model: str) -> Chat:
        return model(f"{local_model}/elsewhere")


def test_it_reads_what_it_is_given(local_model: str) -> None:
    """A sentence that repeats the question's words is within reach of even this model."""
    messages = [
        Message("system", "Answer with a sentence of the text."),
        Message("user", "Text: The harbour closes at nine.\n\nQuestion: When does the harbour close?"),
    ]
    reply = "".join(model(local_model).stream(messages, 40))
    assert "harbour" in reply.lower()


def test_the_limit_of_tokens_holds(local_model: str) -> None:
    assert 1 <= len(list(model(local_model).stream([QUESTION], 5))) <= 5


def test_its_errors_say_what_to_do(local_model: str) -> None:
    with pytest.raises(ModelMissing, match="404"):
        list(model(f"{local_model}/elsewhere").stream([QUESTION], 5))
    long = Message("user", "harbour " * 3 * CONTEXT_TOKENS)
    with pytest.raises(ModelProblem, match="context") as caught:
        list(model(local_model).stream([long], 5))
    assert "too much text" in caught.value.hint
