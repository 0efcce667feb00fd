from __future__ import annotations

import itertools
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.common.versions import MAX_LENGTH, best, newest_first, parse, parse_range
from watersmeet.core.errors import ConfigError

PEP440 = (
    "1.0.dev1 1.0a1.dev1 1.0a1 1.0b2 1.0rc1 1.0 1.0+abc 1.0+abc.5 1.0+5 1.0.post1.dev2 1.0.post1 1.0.1 1.1.dev1 1.1"
    " 1!0.5"
).split()
SEMVER = (
    "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.10.0"
).split()
PUBLISHED = ["17.0.2", "18.0.0-rc.1", "18.0.0", "18.2.0", "18.3.1", "19.0.0-beta", "19.0.0"]


@pytest.mark.parametrize(("versions", "semver"), [(PEP440, False), (SEMVER, True)])
def test_versions_are_in_order(versions: list[str], semver: bool) -> None:
    parsed = [parse(version, semver) for version in versions]
    for (i, one), (j, other) in itertools.product(enumerate(parsed), repeat=2):
        assert one is not None
        assert other is not None
        assert (one < other, one == other) == (i < j, i == j), (versions[i], versions[j])


def test_versions_that_mean_the_same_are_equal() -> None:
    assert parse("2.0") == parse("2.0.0") == parse("v2")
    assert hash(parse("2.0")) == hash(parse("2.0.0"))
    assert parse("1.0-1") == parse("1.0.post1")
    assert parse("1.0alpha1") == parse("1.0a1")


@given(st.text(max_size=30), st.booleans())
def test_any_text_is_a_version_or_none(text: str, semver: bool) -> None:
    parse(text, semver)
    with suppress(ConfigError):
        assert parse_range(text, semver).text == text


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("", "19.0.0"),
        ("latest", "19.0.0"),
        ("*", "19.0.0"),
        ("18", "18.3.1"),
        ("18.x", "18.3.1"),
        ("18.*", "18.3.1"),
        ("==18.*", "18.3.1"),
        ("18.2.x", "18.2.0"),
        ("^18.2", "18.3.1"),
        ("~18.2", "18.2.0"),
        ("~=18.2", "18.3.1"),
        (">=18,<19", "18.3.1"),
        (">=18 <19", "18.3.1"),
        (">= 18 < 19", "18.3.1"),
        ("<19", "18.3.1"),
        ("<=18", "18.3.1"),
        (">18", "19.0.0"),
        ("!=19.0.0", "18.3.1"),
        ("17.x || 18.2.x", "18.2.0"),
        ("17 - 18", "18.3.1"),
        ("18.0.0-rc.1", "18.0.0-rc.1"),
        ("20", None),
        ("18.4", None),
    ],
)
@pytest.mark.parametrize("semver", [True, False])
def test_the_best_version_of_a_range(wanted: str, chosen: str | None, semver: bool) -> None:
    assert best(wanted, PUBLISHED, semver) == chosen


def test_a_caret_below_one_keeps_the_first_number_that_counts() -> None:
    published = ["0.2.3", "0.2.9", "0.3.0", "1.0.0"]
    assert best("^0.2.3", published, semver=True) == "0.2.9"
    assert best("^0", published, semver=True) == "0.3.0"


def test_prereleases_only_if_named_or_if_there_is_nothing_else() -> None:
    assert best("", ["1.0", "2.0b1"]) == "1.0"
    assert best("", ["2.0b1", "2.0b2"]) == "2.0b2"
    assert best(">=2.0b1", ["1.0", "2.0b1"]) == "2.0b1"
    assert best("2.0", ["1.0", "2.0.0", "2.0.1"]) == "2.0.1"
    assert best("2.0", ["2.0", "2.0.1"]) == "2.0"


@pytest.mark.parametrize("text", ["abc", "18..", "^", "1.x.y", ">", "=>3", "a b", "1" * (MAX_LENGTH + 1)])
def test_what_is_not_a_range_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_range(text)


def test_newest_first() -> None:
    assert newest_first(["1.2", "odd", "1.10", "1.9"]) == ["1.10", "1.9", "1.2", "odd"]
