"""Dates as people write them on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from watersmeet.core.errors import ConfigError

_AGO = re.compile(r"(\d{1,5})([hdwmy])")
_YEAR_OR_MONTH = re.compile(r"\d{4}(-\d\d)?")
_UNITS = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "m": timedelta(days=30),
    "y": timedelta(days=365),
}


def parse_date(text: str | datetime, now: datetime | None = None) -> datetime:
    """A date: start of a day, month or year (2026-01-31, 2026-01, 2026), a time, or an age (12h, 7d, 2w, 3m, 1y)."""
    plain = str(text).strip()
    ago = age(plain)
    try:
        if ago is not None:
            return (now or datetime.now(UTC)) - ago
        if _YEAR_OR_MONTH.fullmatch(plain):
            plain = f"{plain}-01-01"[:10]
        moment = datetime.fromisoformat(plain)
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is not a date", "write 2026-01-31, or an age: 12h, 7d, 2w, 3m, 1y") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def age(text: str) -> timedelta | None:
    """An age such as 12h, 7d, 2w, 3m or 1y; None if the text is none."""
    found = _AGO.fullmatch(text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] if found else None
