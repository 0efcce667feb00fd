"""Dates as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from watersmeet.common.dates import parse_date
from watersmeet.core.errors import ConfigError

NOW = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-01-15", datetime(2026, 1, 15, tzinfo=UTC)),
        ("2025-06", datetime(2025, 6, 1, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("7d", datetime(2026, 1, 24, tzinfo=UTC)),
        ("2Y", datetime(2024, 2, 1, tzinfo=UTC)),
    ],
)
def test_dates_and_ages(text: str, date: datetime) -> None:
    assert parse_date(text, NOW) == date


@pytest.mark.parametrize("text", ["soon", "", "2026-13-01", "99999y"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(ConfigError, match="not a date"):
        parse_date(text, NOW)
