from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.model import Plan, Request
from watersmeet.engine.settings.settings import load
from watersmeet.query.intent import Intent


def test_both_texts_for_meaning_and_the_new_words_lightly() -> None:
    plan = Intent().apply(Plan("rotate keys", intent="I want to write about the keys of a piano"))
    assert plan.intent_words == ("write", "piano")
    assert plan.intent_weight == 0.3
    assert plan.semantic_text == "rotate keys I want to write about the keys of a piano"


@pytest.mark.parametrize("step", [Intent(), Intent(weight=0.0)])
def test_without_an_intent_nothing_changes(step: Intent) -> None:
    assert step.apply(Plan("rotate keys")) == Plan("rotate keys")
    unweighed = Intent(weight=0.0).apply(Plan("rotate keys", intent="piano"))
    assert (unweighed.semantic_text, unweighed.intent_words) == ("rotate keys", ())


@given(st.text(max_size=40), st.text(max_size=40))
def test_twice_is_once(text: str, intent: str) -> None:
    once = Intent().apply(Plan(text, intent=intent))
    assert Intent().apply(once) == once


def test_the_intent_tells_equals_apart_and_never_outweighs_the_query(tmp_path, write) -> None:  # type: ignore[no-untyped-def] # fixtures
    root = write(
        {
            "a.md": "# Keys\n\nA key opens doors in the garden.\n",
            "b.md": "# Keys\n\nA key sounds notes on the piano.\n",
            "c.md": "# Music\n\nThe piano is played for an evening in a hall.\n",
        }
    )
    environ = {
        "WATERSMEET__INDEX__VECTORS": "false",
        "WATERSMEET__PIPELINE__UNDERSTAND": '["words", "intent"]',
    }
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.sync([root])

        def first(intent: str) -> str:
            answer = engine.search(Request("key", intent=intent))
            assert {result.document for result in answer.results[:2]} == {"a.md", "b.md"}
            return answer.results[0].document

        assert first("playing the piano") == "b.md"
        assert first("planning a garden") == "a.md"
