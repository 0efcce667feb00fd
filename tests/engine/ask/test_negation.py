"""Negations: whether two texts deny the same."""

from __future__ import annotations

import pytest

from watersmeet.engine.ask.negation import conflict, scopes


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Keys are not deleted.", "Keys aren't deleted."),
        ("There is no support for it.", "It isn't supported."),
        ("Backups are unencrypted.", "Backups are not encrypted."),
        ("It works without a network.", "No network is needed: it works without one network."),
        ("Not only keys are rotated.", "Keys are rotated."),
        ("Tokens may be renewed.", "Tokens may be renewed. Passwords may not be sent."),
        ("It can not never stop.", "It can stop."),
    ],
)
def test_the_same(claim: str, passage: str) -> None:
    assert conflict(claim, passage) == ""


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Keys are not deleted.", "Keys are deleted."),
        ("Keys are deleted.", "Keys are never deleted."),
        ("It is possible.", "It is impossible."),
        ("Both are not kept and nobody notices.", "Both are kept and nobody notices."),
        ("There is not no queue.", "There is no queue."),
        ("A device believes it to be safe that is.", "A device believes it to be safe that is not."),
        ("The upper limit holds.", "The lower limit holds."),
    ],
)
def test_a_contradiction(claim: str, passage: str) -> None:
    assert conflict(claim, passage) != ""


def test_a_negation_ends_with_its_clause() -> None:
    assert scopes("It does not stop, but the server restarts.") == [["stop"]]
    assert scopes("Whether or not, it stops.") == []
