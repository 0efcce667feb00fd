"""The part of a passage that says why it was found."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.present.plain_text import plain, units
from watersmeet.present.snippet import LINES, WIDTH, excerpt, snippet

TEXT = """Some words before.

## Ports

The server listens on port 7878.

```sh
tern serve --port 9000
```

Nothing of note here.
Rotate the **keys** every [quarter](https://example.org/q).
Expired keys are refused by the server.
Last line."""


def test_the_sentences_that_share_most_with_the_query() -> None:
    assert snippet(TEXT, "how do I rotate keys?")[0].startswith("Rotate the keys every quarter.")
    assert snippet(TEXT, "which expired keys does the server refuse")[0].startswith("Expired keys are refused")
    both = " ".join(snippet(TEXT, "how do I rotate expired keys"))
    assert "Rotate the keys every quarter. Expired keys are refused by the server." in both


def test_other_endings_of_a_word_count() -> None:
    assert snippet(TEXT, "rotating a key")[0].startswith("Rotate the keys")


def test_fences_rules_and_blank_lines_are_not_shown() -> None:
    for query in ("port", "serve", "9000", "nothing"):
        assert not {line for line in snippet(TEXT, query) if "```" in line or not line.strip()}
    assert snippet("```\n---\n\n***\n```", "x") == []
    assert snippet("", "x") == []


def test_a_heading_is_shown_only_if_it_matches() -> None:
    assert snippet(TEXT, "listens") == [
        "The server listens on port 7878.",
        "tern serve --port 9000",
        *snippet(TEXT, "nothing"),
    ]
    assert snippet("One line of keys.\n\n## What follows\n\nText.", "keys") == ["One line of keys.", "Text."]
    assert snippet("Words.\n\n## The keys\n\nText.", "keys") == ["The keys", "Text."]
    assert snippet("## Only this", "keys") == ["Only this"]


def test_without_shared_words_it_begins_at_the_beginning() -> None:
    assert snippet(TEXT, "xylophone")[0] == "Some words before."
    assert snippet("- a\n- b\n- c\n- d", "") == ["- a", "- b", "- c"]


def test_it_begins_with_a_sentence_or_list_item() -> None:
    text = "1. Look at the symbol: red shows\n   the code.\n2. Compare clocks.\n3. Changes arrive late?\n4. Ask.\n"
    assert snippet(text, "changes arrive") == ["2. Compare clocks.", "3. Changes arrive late?", "4. Ask."]
    wrapped = "One thing that goes on for a while and ends in the\nnext line. The keys of the harbour office rotate."
    assert snippet(wrapped, "rotate") == ["The keys of the harbour office rotate."]
    assert snippet("```\nfirst\nsecond\n  third rotate\n```\n", "rotate") == ["first", "second", "  third rotate"]


def test_long_items_are_indented_below_their_marker() -> None:
    found = snippet(f"- {'word ' * 30}", "word", 40)
    assert found[0].startswith("- word")
    assert found[1].startswith("  word")


def test_a_long_sentence_is_cut_around_what_was_asked_for() -> None:
    line = "word " * 200 + "needle " + "word " * 200
    shown = snippet(line, "needle")
    assert "needle" in " ".join(shown)
    assert shown[0].startswith("… word")
    assert shown[-1].endswith("word …")
    assert all(len(line) <= WIDTH for line in shown)
    (narrow,) = snippet(line, "needle", 40, 1)
    assert "needle" in narrow


def test_a_line_without_spaces_is_cut_all_the_same() -> None:
    found = snippet("字" * 500, "字", 80)
    assert len(found) == LINES
    assert all(len(line) <= 80 for line in found)


MARKS = st.text(alphabet="ab. *_`[]()<>#|-\n!&;=%~^1\\é字", max_size=200)


@pytest.mark.slow
@given(st.one_of(st.text(max_size=600), MARKS), st.text(max_size=30), st.integers(20, 200), st.integers(1, LINES))
def test_a_snippet_is_short_and_part_of_the_plain_text(text: str, query: str, width: int, most: int) -> None:
    whole = " ".join(plain(text).split())
    lines = snippet(text, query, width, most)
    assert len(lines) <= most
    assert bool(lines) == any(map(str.isalnum, text))
    for line in lines:
        assert len(line) <= width
        words = " ".join(line.removeprefix("… ").removesuffix("…").split())
        assert words in whole or words.replace(" ", "") in whole.replace(" ", "")


@pytest.mark.slow
@given(st.one_of(st.text(max_size=600), MARKS), st.text(max_size=30))
def test_an_excerpt_reads_like_the_passage(text: str, query: str) -> None:
    """Rendered alone, an excerpt says nothing that the passage does not say."""
    letters = re.compile(r"[^\W_]+")
    found = letters.findall(plain(excerpt(text, query)))
    assert bool(found) == any(map(str.isalnum, text))
    assert set("".join(found)) <= set("".join(letters.findall(plain(text)))) | set("1234567890")


def test_an_excerpt_is_markdown_that_can_be_rendered_alone() -> None:
    text = "Intro with **bold.\nStill** bold.\n\n> - first [a](b)\n> - second keys\n> - third\n\nEnd."
    assert excerpt(text, "second keys") == "- second keys\n- third\n\nEnd."
    assert excerpt("Say:\n\n````md\nsay ``` keys\n````\n", "keys") == "````md\nsay ``` keys\n````"
    table = "| name | use |\n|:---|---|\n| rope | moor |\n| keys | *open* |\n"
    assert excerpt(table, "keys") == "| name | use |\n|---|---|\n| rope | moor |\n| keys | *open* |"
    assert excerpt("def f():\n    return '**'\n", "f", kind="code") == "```\ndef f():\n    return '**'\n```"
    assert excerpt("<div>\n<script>alert(1)</script>keys\n</div>", "keys") == "alert(1) keys"


def test_an_excerpt_of_a_giant_sentence_is_cut() -> None:
    text = "**word** " * 5000
    assert len(excerpt(text, "word")) <= 2 * LINES * WIDTH


@pytest.mark.parametrize("piece", ["word ", "a. ", "[", "**a ", "- \n", "| a |\n", "x = 1\n"])
def test_a_megabyte_takes_no_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    snippet(text, "word a x needle")
    excerpt(text, "word a x needle")
    assert time.process_time() - start < 4
    assert len(units(text)) < 100_000
