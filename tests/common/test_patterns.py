"""The same answer as Python's `re` gives, in time that grows with the text alone, and in bounded memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.common.patterns import MEMORY, BadPattern, Regular

PIECES = r"a b A 1 . [ab] [^a] [a-c1-3] [\d_] [^\w] \d \w \s \D \W \S \b \B ^ $ \. \- []a] [a-] { x{"
LEAVES = st.sampled_from([" ", *PIECES.split()])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map(lambda part: f"(?:{part})")
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map(lambda part: f"({part})"),
        st.tuples(group, st.sampled_from(["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{1,}", "{0}"])).map("".join),
    )


PATTERNS = st.recursive(LEAVES, _grown, max_leaves=8)
TEXTS = st.text("aAbBcC1_. -{x", min_size=1, max_size=12)  # on an empty text Python versions differ about \\B
LETTERS = st.recursive(st.sampled_from("a é É [à-ü] [^é] 漢 . д".split()), _grown, max_leaves=8)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=4))
def test_it_occurs_where_re_says_so(pattern: str, texts: list[str]) -> None:
    known = re.compile(pattern, re.IGNORECASE)
    ours = Regular(pattern)
    for text in texts:
        assert ours.occurs_in(text) == (known.search(text) is not None), text


@settings(max_examples=100, deadline=None)
@given(LETTERS, st.text("aAéÉüÜ漢字дД😀", max_size=12))
def test_letters_of_any_script_in_either_case(pattern: str, text: str) -> None:
    assert Regular(pattern).occurs_in(text) == (re.search(pattern, text, re.IGNORECASE) is not None)


NOT_LINEAR = r"(a)\1 (?=a)b (?!a)b (?<=a)b (?>a) a*+"
NO_PATTERN = r"a** *a (a a) [a a\ \k \Z a{3,2} a{99999} [z-a] a{,2}"
TOO_LARGE = ["((((a{50}){50}){50}){50})", "((){900}){900}", r"\pL{900}", r"\pL" * 20_000]


@pytest.mark.parametrize("pattern", [*NOT_LINEAR.split(), *NO_PATTERN.split(), *TOO_LARGE])
def test_what_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Regular(pattern)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("a(?=b)", "invalid perl operator: (?="),
        ("ab[z-a]", "invalid character class range: z-a"),
        ("(ab", "missing ): (ab"),
        (r"\pL{900}", "pattern too large"),
        ("a{,2}", "{0,2}"),
        (r"\bcafé\b", r"(?:^|\PL)"),
    ],
)
def test_a_refusal_names_the_part_and_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(BadPattern) as problem:
        Regular(pattern)
    assert reason in str(problem.value)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\w+$", "cafe", True),
        (r"^\w+$", "café", True),
        (r"^[\pL\pN_]+$", "café", True),
        (r"\d", "٣", True),
        (r"\W", "é", False),
        (r"^[\w-]+$", "très-près", True),
        (r"^[^\w]+$", "é", False),
        (r"x[{,2}]", "x,", True),
        (r"[]\w]{3}", "]é]", True),
        (r"\pN", "٣", True),
        (r"a\sb", "a\u00a0b", False),
        (r"(?:^|\PL)café(?:\PL|$)", "un Café noir", True),
        (r"(?:^|\PL)café(?:\PL|$)", "cafétéria", False),
        (r"\\b é", "\\B É", True),
        ("σ", "ς", True),
        ("a$", "a\n", False),
    ],
)
def test_classes_of_characters(pattern: str, text: str, expected: bool) -> None:
    assert Regular(pattern).occurs_in(text) is expected


@given(st.text(r"ab()[]{}*+?|\^$.-,1<:!=", max_size=15))
def test_any_text_is_a_pattern_or_is_refused(pattern: str) -> None:
    try:
        made = Regular(pattern)
    except BadPattern:
        return
    assert made.occurs_in("ab") in (True, False)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*)(.*)(.*)(.*)b", "(a?){30}a{30}b"])
def test_hostile_patterns_are_linear(pattern: str) -> None:
    made = Regular(pattern)
    start = time.process_time()
    assert not made.occurs_in("a" * 20_000)
    assert time.process_time() - start < 1


def test_deep_brackets_are_no_trouble() -> None:
    assert Regular("(?:" * 1_900 + "a" + ")*" * 1_900).occurs_in("b")


@pytest.mark.parametrize("pattern", ["(a|b)*a(a|b){400}c", "(.*a){300}c", "(.*a.*b){150}c"])
def test_what_is_learnt_is_bounded(pattern: str) -> None:
    made = Regular(pattern)
    random = Random(1)  # noqa: S311
    texts = ["".join(random.choices("ab", k=20_000)) for _ in range(10)]
    before = _resident()
    assert not any(made.occurs_in(text) for text in texts)
    assert _resident() - before < 10 * MEMORY


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_re2_is_loaded_with_the_first_pattern() -> None:
    script = """
import sys
from watersmeet.common.globs import pattern
pattern("*.md")
assert "re2" not in sys.modules
pattern("a?")
assert "re2" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
