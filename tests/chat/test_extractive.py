"""The choice of no model."""

from __future__ import annotations

import pytest

from watersmeet.chat.extractive import Extractive
from watersmeet.core.errors import ModelProblem
from watersmeet.engine.models import chat
from watersmeet.engine.settings.settings import load
from watersmeet.testing.contracts.chat import QUESTION


def test_it_is_a_component_and_no_model() -> None:
    chosen = chat(load(), "extractive")
    assert chosen == Extractive()
    assert chosen.name == "extractive"
    with pytest.raises(ModelProblem, match="quotes") as caught:
        list(chosen.stream([QUESTION], 20))
    assert caught.value.hint
