"""Plain text of Markdown, in units that can be rendered alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.present.plain_text import MAX_READ, escaped, plain, units


def pairs(text: str) -> list[tuple[str, str]]:
    return [(unit.plain, unit.source) for unit in units(text)]


def test_marks_go_and_the_source_keeps_them() -> None:
    assert pairs("A **bold** [link](http://x.org/a_b) and [[Note#Part|alias]]. `A_b` *stays*.") == [
        ("A bold link and alias.", "A **bold** [link](http://x.org/a_b) and [[Note#Part|alias]]."),
        ("A_b stays.", "`A_b` *stays*."),
    ]
    assert plain("[[Note#Part]] and [[#Part]], ![[pic.png]], ![a sail](s.png), ~~old~~ &amp; &lt;b&gt;") == (
        "Note > Part and Part, pic.png, a sail, old & <b>"
    )


def test_a_unit_never_begins_inside_an_element() -> None:
    assert pairs("One **two. Three** four. Five [six. Seven](u). Eight.") == [
        ("One two. Three four.", "One **two. Three** four."),
        ("Five six. Seven.", "Five [six. Seven](u)."),
        ("Eight.", "Eight."),
    ]


def test_lists_keep_their_markers_and_quotes_lose_theirs() -> None:
    text = "> [!tip]- Best *practice*\n> Use ropes.\n> - [x] one\n> - two\n>   goes on\n\n3. three\n4. four\n"
    assert plain(text).splitlines() == [
        "Best practice",
        "Use ropes.",
        "- [x] one",
        "- two goes on",
        "3. three",
        "4. four",
    ]
    assert ">" not in "".join(source for _, source in pairs(text))


def test_tables_are_rows_of_cells() -> None:
    found = units("| a | **b** |\n|---|---|\n| 1 | [x](y) |\n")
    assert [unit.plain for unit in found] == ["a · b", "1 · x"]
    assert found[1].source == "| 1 | [x](y) |"
    assert found[1].before == "| a | **b** |\n|---|---|"


def test_code_keeps_its_characters() -> None:
    found = units("```py run\ndef __init__(self):\n    return **kw  # [[x]]\n```")
    assert [unit.plain for unit in found] == ["def __init__(self):", "    return **kw  # [[x]]"]
    assert {unit.before for unit in found} == {"py"}
    assert plain("def __init__(self):\n\n    return *a*\n", "code") == "def __init__(self):\n    return *a*"
    assert plain("@@ __x__\n+*a*", "commit") == "@@ __x__\n+*a*"


def test_html_tags_go_but_type_parameters_stay() -> None:
    assert plain("A <b>bold</b> Vec<T> and <br/>line <!-- not this -->.") == "A bold Vec<T> and line ."
    assert plain('<div class="x">\n**Inside** it\n</div>') == "Inside it"
    assert plain("<details><summary>More</summary>\n\nThe *rest*.\n\n</details>") == "More\nThe rest."


def test_what_only_obsidian_knows() -> None:
    assert plain("The ==marked== word %%a comment%% here. ^block-1") == "The marked word here."
    assert plain("if a == b and c == d") == "if a == b and c == d"


def test_a_passage_of_comments_alone_is_shown_as_it_is() -> None:
    assert plain("<!-- words -->") == "<!-- words -->"
    assert plain("---\n\n***") == ""


def test_entities_cannot_bring_line_breaks() -> None:
    assert plain("a&#10;b&#13;c") == "a b c"


def test_escaped_text_reads_the_same() -> None:
    text = "a *b* [c](d) <e> `f` # g | h_i_ ~~j~~ &amp; !k"
    assert plain(escaped(text)) == text


@pytest.mark.slow
@given(st.text(alphabet="ab. *_`[]()<>#|-\n!&;=%~^1\\é字", max_size=200))
def test_every_text_with_words_has_units(text: str) -> None:
    found = units(text)
    assert bool(found) == any(map(str.isalnum, text))
    assert all(unit.plain.strip() and "\n" not in unit.plain for unit in found)


@pytest.mark.parametrize(
    "piece",
    ["word ", "a. ", "[", "**a ", "`", "> ", "- ", "<!-- ", "| ", "<a ", "==a ", "%%a", "[[a|", "![x](", "&#", "\\"],
)
def test_a_long_line_takes_no_time(piece: str) -> None:
    start = time.process_time()
    units(piece * (1_000_000 // len(piece)))
    assert time.process_time() - start < 2, MAX_READ
