"""The pattern matcher alone: what matches, and that nothing hostile makes it slow."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.common.globs import pattern


def matches(glob: str, path: str, is_folder: bool = False) -> bool:
    rule = pattern(glob)
    return rule is not None and rule.matches(path.rsplit("/", 1)[-1], path, is_folder)


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.md", "a.md", True),
        ("*.md", "deep/down/a.md", True),
        ("*.md", "a.mdx", False),
        ("notes", "deep/notes", True),
        ("/notes", "deep/notes", False),
        ("/notes", "notes", True),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", False),
        ("a/*", "a/b", True),
        ("a/*", "a/b/c", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("**/b", "b", True),
        ("**/b", "a/x/b", True),
        ("**/b", "a/xb", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/xb", False),
        ("a/**/**/b", "a/b", True),
        ("a**b", "axxb", True),
        ("x/a**b", "x/a/b", False),
        ("?.md", "a.md", True),
        ("?.md", "ab.md", False),
        ("?.md", "é.md", True),
        ("[a-c].md", "b.md", True),
        ("[!a-c].md", "b.md", False),
        ("[^a-c].md", "d.md", True),
        ("[]x].md", "].md", True),
        ("[[:digit:]]", "7", True),
        ("[[:digit:]]", "x", False),
        ("[[:nonsense:]]", "n", False),
        ("a?b", "a/b", False),
        ("x/[/]", "x//", False),
        ("[ab", "[ab", False),
        (r"\*", "*", True),
        (r"\*", "a", False),
        (r"a\\b", "a\\b", True),
        ("a\\", "a\\", False),
        (r"\!a", "!a", True),
        ("[+-9]x", "/x", False),
        ("x/[+-9]", "x/5", True),
        ("x/[+-9]", "x/.", True),
        ("x/[+-9]", "x//", False),
        ("x/[!a]", "x//", False),
        ("[b-a]", "a", False),
        ("[b-a]", "b", True),
        ("[!b-a]", "b", False),
        ("a*b", "a\nb", True),
        ("x/**", "x/a\nb", True),
        ("a.b?", "axbc", False),
        ("(a|b)*", "(a|b)c", True),
        ("(a|b)*", "ac", False),
        ("", "", False),
        ("/", "a", False),
    ],
)
def test_what_matches(glob: str, path: str, expected: bool) -> None:
    assert matches(glob, path) is expected


def test_a_slash_at_the_end_means_folders() -> None:
    assert matches("build/", "x/build", is_folder=True)
    assert not matches("build/", "x/build", is_folder=False)
    assert matches("a/**/", "a/b/c", is_folder=True)


def test_an_exclamation_mark_negates_only_where_it_may() -> None:
    ignoring, glob = pattern("!a"), pattern("!a", may_negate=False)
    assert ignoring is not None
    assert glob is not None
    assert (ignoring.negated, ignoring.test("a")) == (True, True)
    assert (glob.negated, glob.test("!a")) == (False, True)


@pytest.mark.parametrize(
    "glob",
    [
        "*a" * 40 + "*b",
        "x/" + "*a" * 40 + "*b",
        "**/" * 40 + "b",
        "/".join(["**", "a"] * 40) + "/b",
        "x/" + "[!b]*" * 40 + "b",
        "*" * 100_000 + "b",
        "?*" * 2_000 + "b",
    ],
)
def test_a_hostile_pattern_is_no_slower_than_it_is_long(glob: str) -> None:
    began = time.process_time()
    for path in ("a" * 250, "x/" + "a" * 250, "/".join("a" * 1_000)):
        assert not matches(glob, path)
    assert time.process_time() - began < 1.0


def test_a_hostile_pattern_has_the_right_answer() -> None:
    glob = "*a*a*a*a*a*a*a*a*a*a*b"
    began = time.process_time()
    assert not matches(glob, "a" * 200_000)
    assert not matches(glob, "a" * 9 + "b")
    assert matches(glob, "a" * 10 + "b")
    assert matches(glob, "a" * 200_000 + "b")
    assert matches("x/" + glob, "x/" + "ca" * 10 + "cb")
    assert not matches("x/" + glob, "x/" + "ca" * 10 + "/cb")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("glob", ["?*" * 20_000, "漢*" * 5_000, "[a-z]" * 50_000, "\\a" * 1_000_000])
def test_a_pattern_that_is_too_large_can_match_nothing(glob: str) -> None:
    assert pattern(glob) is None


def test_a_name_that_is_not_utf8_has_characters_too() -> None:
    name = os.fsdecode(b"\xff\xfe.md")
    assert matches("??.md", name)
    assert matches("[!a]*[!a].md", name)
    assert not matches("?.md", name)
    assert matches(name.replace(".md", "*"), name)


@given(st.text("ab*?[]!-\\/^:", max_size=30), st.text("ab/-]", max_size=30))
def test_any_pattern_gives_an_answer(glob: str, path: str) -> None:
    assert matches(glob, path) in (True, False)


@pytest.mark.slow
@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_an_escaped_text_with_stars_matches_what_it_was_made_of(head: str, middle: str, tail: str) -> None:
    name = "/".join(part.replace("/", "") + "." for part in (head, middle, tail))
    escaped = "".join("/" if character == "/" else "\\" + character for character in name)
    first, _, last = escaped.split("/")
    assert matches(escaped, name)
    assert matches(f"{first}/*/{last}", name)
    assert matches(f"{first}/**/{last}", name)
    assert matches(f"**/{last}", name)
