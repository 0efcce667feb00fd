"""llms.txt and llms-full.txt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.source._llms import links_of_list, parts_of_full


def test_links_are_those_of_the_list() -> None:
    text = "# T\n\n- [A](https://h/a.md): x\n- [B](b.md)\n- [A again](https://h/a.md)\n[m](mailto:x@y) [c]( <c.md> 'c')"
    assert links_of_list(text) == ["https://h/a.md", "b.md", "c.md"]


def test_one_top_heading_is_the_title_of_all() -> None:
    parts = parts_of_full("# All\n\nIntro.\n\n## One\n\na\n\n### Sub\n\nb\n\n## Two\n\nc\n")
    assert [part.anchor for part in parts] == ["all", "one", "two"]
    assert "### Sub" in parts[1].text


def test_text_before_the_first_heading_is_a_part() -> None:
    assert [(part.anchor, part.text) for part in parts_of_full("before\n\n# A\nb\n# C\n")] == [
        ("", "before"),
        ("a", "# A\nb\n"),
        ("c", "# C\n"),
    ]
    assert [part.anchor for part in parts_of_full("no heading\n")] == [""]
    assert parts_of_full("") == []


@given(st.lists(st.sampled_from(["# A", "# A 2", "# A-2", "## B", "```", "text", "# é", "#", "Source: https://h/x"])))
def test_parts_have_anchors_of_their_own_and_keep_the_text(lines: list[str]) -> None:
    parts = parts_of_full("\n".join(lines))
    assert len({part.anchor for part in parts}) == len(parts)
    assert "\n".join(part.text for part in parts).split() == " ".join(lines).split()
