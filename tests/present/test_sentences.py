"""Where sentences begin and end."""

from __future__ import annotations

from watersmeet.present.sentences import sentences


def texts(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


def test_sentences_and_lines() -> None:
    assert texts("Bring rope, e.g. Two lines. Ask J. Doe! Yes.") == [
        "Bring rope, e.g. Two lines.",
        "Ask J. Doe!",
        "Yes.",
    ]
    assert texts("Google account\nPython 3\n\nGit") == ["Google account", "Python 3", "Git"]
    assert texts("潮は六時に満ちる。船は待つ。") == ["潮は六時に満ちる。", "船は待つ。"]
    assert texts("") == texts(" \n ") == []


def test_wrapped_lines_are_one_sentence() -> None:
    wrapped = "The ferry leaves from the northern pier at six in the morning and\nreturns at noon, unless it is windy."
    assert texts(wrapped) == [wrapped]
