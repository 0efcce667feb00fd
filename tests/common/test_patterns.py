"""The same answer as Python's `re` gives, in time that grows with the text alone."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.common.patterns import BadPattern, Regular

PIECES = r"a b A é 1 . [ab] [^a] [a-c1-3] [\d_] [^\w] \d \w \s \D \W \S \b \B ^ $ \. \- []a] [a-] { x{"
LEAVES = st.sampled_from([" ", *PIECES.split()])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map(lambda part: f"(?:{part})")
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map(lambda part: f"({part})"),
        st.tuples(group, st.sampled_from(["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}"])).map(
            "".join
        ),
    )


PATTERNS = st.recursive(LEAVES, _grown, max_leaves=8)
TEXTS = st.text("aAbBcC1_. -éÉ{x", min_size=1, max_size=12)  # on an empty text Python versions differ about \\B


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=4))
def test_it_occurs_where_re_says_so(pattern: str, texts: list[str]) -> None:
    known = re.compile(pattern, re.IGNORECASE)
    ours = Regular(pattern)
    for text in (*texts, *texts):  # the second time from what was learnt
        assert ours.occurs_in(text) == (known.search(text) is not None), text


NOT_LINEAR = r"(a)\1 (?=a)b (?!a)b (?<=a)b (?P<n>a) (?>a) a*+"
NO_PATTERN = r"a** *a (a a) [a a\ \p{L} \k a{3,2} a{99999} [z-a]"
TOO_LARGE = ["((((a{50}){50}){50}){50})", "((){900}){900}", "(" * 60 + ")" * 60]


@pytest.mark.parametrize("pattern", [*NOT_LINEAR.split(), *NO_PATTERN.split(), *TOO_LARGE])
def test_what_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Regular(pattern)


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


def test_what_is_learnt_is_bounded() -> None:
    made = Regular("(a|b)*a(a|b){12}c")
    for number in range(3000):
        made.occurs_in(format(number, "016b").replace("0", "a").replace("1", "b"))
    assert len(made._states) <= 500
    assert made.occurs_in("a" + "b" * 12 + "c")
