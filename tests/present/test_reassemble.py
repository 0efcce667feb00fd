from __future__ import annotations

from dataclasses import replace

from watersmeet.core.documents import Section
from watersmeet.core.model import ChunkId, DocId, Evidence, Hit, Passage
from watersmeet.core.place import Place
from watersmeet.present.reassemble import context_of, in_context, irregular_levels, join_texts, reassemble


def passage(text: str, *headings: str, line: int = 1, name: str = "") -> Passage:
    place = Place((line, line))
    return Passage(ChunkId(name or text), DocId("a.md"), "note", "Tides", "/a.md", None, headings, place, text)


def section(level: int, *headings: str) -> Section:
    return Section(headings, level)


def test_headings_stand_once_and_at_their_depth() -> None:
    read = [
        passage("Intro.", "Tides"),
        passage("Twice a day.", "Tides", "When"),
        passage("The moon.", "Tides", "When", "Why"),
        passage("More of it.", "Tides", "When", "Why"),
        passage("In the estuary.", "Tides", "Where"),
    ]
    assert reassemble("Tides", read) == (
        "# Tides\n\nIntro.\n\n## When\n\nTwice a day.\n\n### Why\n\nThe moon.\n\nMore of it.\n\n## Where\n\n"
        "In the estuary."
    )


def test_a_first_heading_that_is_not_the_title_stands_under_it() -> None:
    assert reassemble("Tides", [passage("Text.", "When")]) == "## When\n\nText."
    assert reassemble("Tides", [passage("Text.")]) == "Text."


def test_a_heading_with_nothing_below_it_is_not_said_twice() -> None:
    assert reassemble("Tides", [passage("When", "Tides", "When")]) == "# Tides\n\n## When"


def test_a_heading_that_the_text_above_holds_is_not_said_twice() -> None:
    read = [passage("Intro.\n## Short\nA line.", "Tides"), passage("Deep.", "Tides", "Short", "Deeper")]
    assert reassemble("Tides", read) == "# Tides\n\nIntro.\n## Short\nA line.\n\n### Deeper\n\nDeep."


def test_no_heading_has_more_than_six_signs() -> None:
    path = tuple(f"h{n}" for n in range(9))
    assert reassemble("h0", [passage("Text.", *path)]).splitlines()[-3] == "###### h8"


def test_nothing_read_is_nothing_shown() -> None:
    assert reassemble("Tides", []) == ""


def test_levels_are_kept_where_the_path_would_not_tell() -> None:
    sections = [section(1, "Tides"), section(4, "Tides", "When"), section(5, "Tides", "When", "Why"), section(0)]
    odd = irregular_levels("Tides", sections)
    assert odd == {"Tides\nWhen": 4}  # what stands below it is one deeper, as one would think
    assert reassemble("Tides", [passage("Text.", "Tides", "When", "Why")], odd).split("\n\n")[:3] == [
        "# Tides",
        "#### When",
        "##### Why",
    ]


def test_a_hit_alone_is_shown_as_it_is() -> None:
    one = passage("Text.", "Tides", name="a")
    assert in_context(Hit("a", 1.0), {"a": one}) is one
    gone = Hit("a", 1.0, (Evidence("context", 1, 1.0, {"context": ["a", "gone"]}),))
    assert context_of(gone) == ["a", "gone"]
    assert in_context(gone, {"a": one}) is one


def test_a_hit_with_its_surroundings_is_one_passage_from_the_first_line_to_the_last() -> None:
    held = {
        "a": passage("One.", "Tides", line=1, name="a"),
        "b": passage("Two.", "Tides", line=5, name="b"),
        "c": passage("Three.", "Tides", "When", line=9, name="c"),
    }
    same = in_context(Hit("b", 1.0, (Evidence("context", 1, 1.0, {"context": ["a", "b"]}),)), held)
    assert (same.id, same.text, same.lines) == ("b", "One.\n\nTwo.", (1, 5))
    both = in_context(Hit("b", 1.0, (Evidence("context", 1, 1.0, {"context": ["b", "c"]}),)), held)
    assert (both.text, both.lines) == ("# Tides\n\nTwo.\n\n## When\n\nThree.", (5, 9))


def code(text: str, first: int, last: int) -> Passage:
    place = Place((first, last))
    return Passage(ChunkId(text), DocId("a.py"), "code", "a.py", "/a.py", None, ("def a()",), place, text)


def test_source_code_is_shown_as_it_is_written() -> None:
    read = [code("import b", 1, 1), code("def a():\n    b()\n\n    c()", 4, 7), code("    d()", 8, 8)]
    assert reassemble("a.py", read) == "import b\n\n\ndef a():\n    b()\n\n    c()\n    d()"


def test_a_line_of_source_code_that_was_cut_stays_one_line() -> None:
    assert reassemble("a.py", [code("a = [1,", 3, 3), code("2]", 3, 3), code("b = 2", 4, 4)]) == "a = [1, 2]\nb = 2"


def test_blank_lines_between_passages_are_limited() -> None:
    assert len(reassemble("a.py", [code("a", 1, 1), code("b", 10**9, 10**9)])) < 2_000


def test_source_code_around_a_hit_has_no_headings() -> None:
    read = [code("a = 1", 1, 1), code("b = 2", 3, 3)]
    hit = Hit(read[0].id, 1.0, (Evidence("context", 1, 1.0, {"context": [one.id for one in read]}),))
    assert in_context(hit, {one.id: one for one in read}).text == "a = 1\n\nb = 2"


def test_a_long_table_is_put_together_again() -> None:
    header = "| port | use |\n|---|---|"
    read = [
        passage(f"Ports:\n\n{header}\n| 1 | web |", "Tides", "Ports", line=5),
        passage(f"{header}\n| 2 | api |", "Tides", "Ports", line=6),
        passage(f"{header}\n| 2 | of another table |", "Tides", "Ports", line=8),
        passage(f"{header}\n| 3 | old |", "Tides", "Old"),
    ]
    assert reassemble("Tides", read) == (
        f"# Tides\n\n## Ports\n\nPorts:\n\n{header}\n| 1 | web |\n| 2 | api |\n\n"
        f"{header}\n| 2 | of another table |\n\n## Old\n\n{header}\n| 3 | old |"
    )


def test_what_passages_repeat_is_said_once() -> None:
    read = [passage("One. Two.", "Tides"), passage("Two.\n\nThree.", "Tides"), passage("Four.\n\nFive.", "Tides")]
    assert reassemble("Tides", read, overlap=20) == "# Tides\n\nOne. Two.\n\nThree.\n\nFour.\n\nFive."
    assert reassemble("Tides", read).count("Two.") == 2  # without overlap, the text is as written


def test_the_longest_repetition_is_left_out() -> None:
    read = [passage("a\n\nb\n\na\n\nb", "Tides"), passage("b\n\na\n\nb\n\nc", "Tides")]
    assert reassemble("Tides", read, overlap=20) == "# Tides\n\na\n\nb\n\na\n\nb\n\nc"


def test_pieces_of_a_function_are_joined_by_their_lines() -> None:
    """With the stage `context` and `--expand`, too."""
    read = [
        replace(passage("def f():\n    a()", "def f()", name="1"), kind="code", place=Place((1, 2))),
        replace(passage("    b()", "def f()", name="2"), kind="code", place=Place((3, 3))),
        replace(passage("    c()", "def f()", name="3"), kind="code", place=Place((5, 5))),
    ]
    assert join_texts(read) == reassemble("f.py", read) == "def f():\n    a()\n    b()\n\n    c()"
