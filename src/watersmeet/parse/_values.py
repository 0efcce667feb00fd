"""Front matter and metadata as JSON values, and the dates in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

_MODIFIED = (
    "modified updated lastmod lastmodified lastupdated modifiedat updatedat datemodified dateupdated dateedited".split()
)
_CREATED = "created date createdat datecreated creationdate published publishdate pubdate".split()
_BETWEEN = str.maketrans("", "", "-_ ")


def plain(value: Any) -> Any:
    """JSON value: dates as ISO text, keys as text, nothing that JSON or UTF-8 cannot represent."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= 256 else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_name(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return clean(str(value))


def _name(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return clean(key) if isinstance(key, str) else str(plain(key))


def clean(text: str) -> str:
    """Text without NULs and unpaired surrogates, which no store accepts."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def flat(value: Any) -> Iterator[str]:
    """Texts of a value that is a text or a list, also nested: unquoted `[[Note]]` is a list in a list."""
    if isinstance(value, list):
        for item in value:
            yield from flat(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def modified(fields: Mapping[str, Any]) -> datetime | None:
    """Modification date from the fields."""
    return _moment(fields, _MODIFIED)


def created(fields: Mapping[str, Any]) -> datetime | None:
    """Creation date from the fields."""
    return _moment(fields, _CREATED)


def _moment(fields: Mapping[str, Any], names: Sequence[str]) -> datetime | None:
    """Date under the first of these names, in any spelling. A time without a zone is UTC."""
    texts: dict[str, str] = {}
    for key, value in fields.items():
        if isinstance(value, str):
            texts.setdefault(key.casefold().translate(_BETWEEN), value)
    for name in names:
        try:
            found = datetime.fromisoformat(texts.get(name, "").strip())
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None
