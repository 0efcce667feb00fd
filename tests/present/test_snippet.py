"""The lines that say why a passage was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.present.snippet import LINES, WIDTH, snippet

TEXT = """Some words before.

## Ports

The server listens on port 7878.

```sh
tern serve --port 9000
```

Nothing of note here.
Rotate the keys every quarter.
Expired keys are refused by the server.
Last line."""


def test_the_lines_that_share_most_with_the_query() -> None:
    assert "Rotate the keys every quarter." in snippet(TEXT, "how do I rotate keys?")
    assert "Expired keys are refused by the server." in snippet(TEXT, "which expired keys does the server refuse")
    both = snippet(TEXT, "how do I rotate expired keys")
    assert {"Rotate the keys every quarter.", "Expired keys are refused by the server."} <= set(both)


def test_other_endings_of_a_word_count() -> None:
    assert "Rotate the keys every quarter." in snippet(TEXT, "rotating a key")


def test_fences_rules_and_blank_lines_are_not_shown() -> None:
    for query in ("port", "serve", "9000", "nothing"):
        assert not {line for line in snippet(TEXT, query) if "```" in line or not line.strip()}
    assert snippet("```\n---\n\n***\n```", "x") == []
    assert snippet("", "x") == []


def test_a_heading_that_leads_nowhere_is_left_out() -> None:
    assert snippet("One line of keys.\n\n## What follows\n\nText.", "keys")[-1] != "## What follows"


def test_without_shared_words_it_begins_at_the_beginning() -> None:
    assert snippet(TEXT, "xylophone")[0] == "Some words before."
    assert snippet("a\nb\nc\nd", "") == ["a", "b", "c"]


def test_a_long_line_is_cut_around_what_was_asked_for() -> None:
    line = "word " * 100 + "needle " + "word " * 100
    (shown,) = snippet(line, "needle")
    assert "needle" in shown
    assert shown.startswith("… word")
    assert shown.endswith("word …")
    assert len(shown) <= WIDTH
    (narrow,) = snippet(line, "needle", 40)
    assert len(narrow) <= 40
    assert "needle" in narrow


def test_a_line_without_spaces_is_cut_all_the_same() -> None:
    (shown,) = snippet("字" * 500, "字", 80)
    assert len(shown) <= 80


@pytest.mark.slow
@given(st.text(max_size=600), st.text(max_size=30), st.integers(20, 200))
def test_a_snippet_is_short_and_of_the_text(text: str, query: str, width: int) -> None:
    whole = "\n".join(line.expandtabs(4) for line in text.splitlines())
    lines = snippet(text, query, width)
    assert len(lines) <= LINES
    for line in lines:
        assert len(line) <= width
        assert line.removeprefix("… ").removesuffix(" …").strip() in whole


def test_it_does_not_begin_with_the_end_of_another_sentence() -> None:
    text = "1. Look at the symbol: red shows\n   the code.\n2. Compare clocks.\n3. Changes arrive late?\n"
    assert snippet(text, "changes arrive") == ["2. Compare clocks.", "3. Changes arrive late?"]
    assert snippet("One thing\nends here.\nThe keys\nrotate.\n", "rotate") == ["ends here.", "The keys", "rotate."]
    assert snippet("```\nfirst\nsecond\nthird rotate\n```\n", "rotate") == ["first", "second", "third rotate"]
