"""The checker: what supports a statement, and what does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from watersmeet.engine.ask.checker import Checker, Evidence, Verdict, plain

KEYS = Evidence(
    "Rotate keys every quarter with `rotate_keys(user_id)`. A key expires after 90 days. Old keys are not deleted; "
    "they are kept for audits.\n\n- The limit is 1,000 keys for each account.\n- Only an owner may disable a key.",
    "Keys",
)


def check(statement: str, passage: Evidence = KEYS) -> Verdict:
    return Checker().check(statement, passage)


@pytest.mark.parametrize(
    "statement",
    [
        "A key expires after 90 days.",
        "Keys expire after ninety days.",
        "Keys are rotated every quarter.",
        "Old keys aren't deleted, they are kept for audits.",
        "Each account has a limit of 1000 keys.",
        "Call `rotate_keys(user_id)` every quarter.",
        "**Old keys** are kept for [audits](audits.md).",
    ],
)
def test_what_a_passage_says_in_these_or_other_words(statement: str) -> None:
    verdict = check(statement)
    assert (verdict.supported, verdict.reason) == (True, "")
    assert verdict.quote in KEYS.text


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("A key expires after 30 days.", "number 30"),
        ("A key does not expire after 90 days.", "denies what the passage does not"),
        ("Old keys are deleted.", "the passage denies it"),
        ("Only an owner may enable a key.", "opposite"),
        ("Rotate keys every quarter with `delete_keys(user_id)`.", "delete_keys"),
        ("Rotate keys every quarter in Paris.", "paris"),
        ("The moon is made of green cheese.", "other words"),
        ("It is so.", "nothing that could be checked"),
        ("The limit is 1,000 keys for each account, and 1,000 more for owners.", "number 1000"),
    ],
)
def test_what_it_does_not_say(statement: str, reason: str) -> None:
    verdict = check(statement)
    assert not verdict.supported
    assert reason in verdict.reason


def test_a_sentence_that_contradicts_decides_even_if_the_next_one_helps() -> None:
    passage = Evidence("The port is 7878 by default. The old port was 8080.")
    assert not check("The port is 8080 by default.", passage).supported
    assert check("The old port was 8080.", passage).supported


def test_headings_count_as_said() -> None:
    passage = Evidence("It listens on 7878 unless the administrator changes it.", "Server Ports")
    assert check("The server port is 7878 unless an administrator changes it.", passage).supported


def test_rare_words_count_more_than_common_ones() -> None:
    def weights(words: Sequence[str]) -> Sequence[float]:
        return [9.0 if word == "zephyr" else 1.0 for word in words]

    passage = Evidence("The daemon writes a journal to the folder.")
    claim = "The zephyr daemon writes a journal to the folder."
    assert Checker().check(claim, passage).supported
    assert not Checker(weights).check(claim, passage).supported


def test_meaning_helps_where_half_of_the_words_are_there() -> None:
    passage = Evidence("Pictures are fetched when the note is opened.")
    claim = "Images are downloaded when the note is opened."
    assert not Checker().check(claim, passage).supported
    near = Checker(similarity=lambda text, others: [0.9] * len(others))
    assert near.check(claim, passage).supported
    assert not Checker(similarity=lambda text, others: [0.3] * len(others)).check(claim, passage).supported


def test_a_passage_without_sentences_supports_nothing() -> None:
    assert not check("A key expires after 90 days.", Evidence("", "A key expires after 90 days")).supported


def test_markup_is_no_part_of_a_text() -> None:
    assert plain("## A **bold** _word_, a [[Note|link]] and [that](x.md), `a_b_c`") == (
        "A bold word, a link and that, `a_b_c`"
    )
