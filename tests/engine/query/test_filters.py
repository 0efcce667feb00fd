"""Filters, dates and pairs as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import ConfigError
from watersmeet.engine.query.filters import check_globs, condition, metadata_pairs

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


def test_filters_are_and_between_keys_and_or_within_one() -> None:
    made = condition(["tag=a", "kind=document", "tag = b c ", "x=1=2"])
    assert made.fields == {"tag": ("a", "b c"), "kind": ("document",), "x": ("1=2",)}
    assert (made.since, made.before) == (None, None)
    assert not condition()


@pytest.mark.parametrize("text", ["tag", "=a", "tag=", " = ", ""])
def test_a_filter_must_be_a_pair(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        condition([text])
    assert repr(text) in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        (" 2026-01 ", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-31T08:30", datetime(2026, 1, 31, 8, 30, tzinfo=UTC)),
        ("2026-01-31T08:30+02:00", datetime(2026, 1, 31, 8, 30, tzinfo=timezone(timedelta(hours=2)))),
        ("12h", NOW - timedelta(hours=12)),
        ("7D", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("3m", NOW - timedelta(days=90)),
        ("1y", NOW - timedelta(days=365)),
    ],
)
def test_dates(text: str, meant: datetime) -> None:
    assert condition(since=text, now=NOW).since == meant
    assert condition(before=text, now=NOW).before == meant


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-1-1x", "7", "-7d", "99999y", "0000", "2026-02-30"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        condition(since=text)
    assert repr(text) in str(error.value)


@given(st.text())
def test_any_text_is_a_date_or_refused(text: str) -> None:
    try:
        made = condition(since=text)
    except ConfigError:
        return
    assert (made.since is None) == (text == "")


def test_pairs() -> None:
    assert metadata_pairs(["sdk=python", " a = b=c", "empty="]) == {"sdk": "python", "a": "b=c", "empty": ""}
    for text in ("sdk", "=python"):
        with pytest.raises(ConfigError):
            metadata_pairs([text])


def test_globs_must_be_able_to_match() -> None:
    assert check_globs(["*.md", "drafts/**", "[ab].txt"]) == ["*.md", "drafts/**", "[ab].txt"]
    for text in ("[", "a\\", "/", ""):
        with pytest.raises(ConfigError):
            check_globs([text])
