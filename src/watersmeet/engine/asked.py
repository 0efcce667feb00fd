"""What a user wrote as flags or query parameters, understood."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition

_AGO = re.compile(r"(\d{1,5})([hdwmy])")
_YEAR_OR_MONTH = re.compile(r"\d{4}(-\d\d)?")
_UNITS = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "m": timedelta(days=30),
    "y": timedelta(days=365),
}


def condition(filters: Iterable[str] = (), since: str = "", before: str = "", now: datetime | None = None) -> Condition:
    """`k=v` filters, AND between keys and OR within one, and a span of time."""
    fields: dict[str, tuple[str, ...]] = {}
    for pair in filters:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise ConfigError(f"the filter {pair!r} is not of the form key=value", "for example --filter tag=setup")
        fields[key.strip()] = (*fields.get(key.strip(), ()), value.strip())
    return Condition(fields, _when(since, now) if since else None, _when(before, now) if before else None)


def _when(text: str, now: datetime | None = None) -> datetime:
    """The start of a day, month or year (2026-01-31, 2026-01, 2026), a time, or how long ago (12h, 7d, 2w, 3m, 1y)."""
    plain = text.strip()
    ago = _AGO.fullmatch(plain.lower())
    try:
        if ago:
            return (now or datetime.now(UTC)) - int(ago[1]) * _UNITS[ago[2]]
        if _YEAR_OR_MONTH.fullmatch(plain):
            plain = f"{plain}-01-01"[:10]
        moment = datetime.fromisoformat(plain)
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is not a date", "write 2026-01-31, or how long ago: 12h, 7d, 2w, 3m, 1y") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def globs(texts: Iterable[str]) -> list[str]:
    """Globs that can match something."""
    from watersmeet.core.globs import pattern

    found = list(texts)
    for text in found:
        if pattern(text, may_negate=False) is None:
            raise ConfigError(f"the pattern {text!r} can match nothing", "for example --exclude 'drafts/**'")
    return found


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """`k=v` metadata."""
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise ConfigError(f"{text!r} is not of the form key=value", "for example --meta sdk=python")
        found[key.strip()] = value.strip()
    return found
