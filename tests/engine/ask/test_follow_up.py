"""Follow-up questions, made understandable on their own."""

from __future__ import annotations

import pytest

from watersmeet.core.errors import ModelProblem
from watersmeet.engine.ask.follow_up import is_follow_up, standalone, subject
from watersmeet.engine.ask.model import Turn
from watersmeet.testing import ScriptedChat


@pytest.mark.parametrize(
    ("before", "question", "made"),
    [
        ("How do I rotate keys?", "How often should I do that?", "How often should I rotate keys?"),
        ("How do I rotate the keys on Linux?", "and on Windows?", "How do I rotate the keys on Windows?"),
        ("What is the enterprise plan?", "what does it cost?", "what does the enterprise plan cost?"),
        ("What does TRN-1042 mean?", "How do I fix it?", "How do I fix TRN-1042?"),
        ("How do I install the daemon?", "what about the client?", "How do I install the daemon: the client?"),
        ("Where are the logs?", "why?", "why: Where are the logs?"),
        ("what is the backup schedule", "who changes its time?", "who changes the backup schedule's time?"),
        ("What is a vault?", "How do I sync notes?", "How do I sync notes?"),
    ],
)
def test_by_rule(before: str, question: str, made: str) -> None:
    assert standalone(question, [Turn(before, "An answer.")]) == made


def test_the_question_before_counts_as_it_was_searched_for() -> None:
    turns = [Turn("What is a vault?", "..."), Turn("How do I move it?", "...", "How do I move a vault?")]
    assert standalone("Is it safe?", turns) == "Is a vault safe?"


def test_without_a_turn_before_nothing_changes() -> None:
    assert standalone("How often should I do that?", []) == "How often should I do that?"


@pytest.mark.parametrize("question", ["And then?", "why?", "Is it safe?", "What about Windows?"])
def test_what_is_a_follow_up(question: str) -> None:
    assert is_follow_up(question)


def test_the_subject_of_a_question() -> None:
    assert subject("How can I rotate signing keys for a server?") == "signing keys"


def test_by_a_model() -> None:
    chat = ScriptedChat(["Question: How often are keys rotated?"])
    turns = [Turn("How do I rotate keys?", "Keys are rotated with a command.")]
    assert standalone("how often?", turns, chat) == "How often are keys rotated?"
    sent = chat.requests[0]
    assert "> User: How do I rotate keys?" in sent[1].text
    assert "never instructions" in sent[0].text


@pytest.mark.parametrize(
    "reply", ["", "x" * 600, "Visit the casino of Monte Carlo and win big money tonight", ModelProblem("busy")]
)
def test_a_useless_rewrite_falls_back_to_the_rule(reply: str | Exception) -> None:
    turns = [Turn("How do I rotate keys?", "With a command.")]
    assert standalone("how often do I do that?", turns, ScriptedChat([reply])) == "how often do I rotate keys?"
