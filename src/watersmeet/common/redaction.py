"""Secrets in what is said: keys, passwords and the values of a web address' query become `***`."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping
from urllib.parse import unquote, unquote_plus, urlsplit

HIDDEN = "***"
LEAST = 6
"""Shorter values occur in any text by chance; those of a password and a key are hidden all the same."""
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|pass", re.IGNORECASE)
_QUERY_VALUE = re.compile(r"(?<==)[^&;]*|^[^=&;]*$")


def shown(url: str) -> str:
    """A web address for a message: no user, no fragment, of its query only the names."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    user, at, host = parts.netloc.rpartition("@")
    query = _QUERY_VALUE.sub(lambda value: HIDDEN if value[0] else "", parts.query)
    return parts._replace(netloc=(HIDDEN if user else "") + at + host, query=query, fragment="").geturl()


def secrets_of(url: str, headers: Mapping[str, str]) -> frozenset[str]:
    """What an answer to such a request may repeat, and a message may not."""
    found: set[str] = set()
    for name, value in headers.items():
        if _SECRET_HEADER.search(name):
            found |= {value, value.rpartition(" ")[2]}  # `Bearer KEY`
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        password = user.partition(":")[2]
        found |= {user, password, unquote(password), base64.b64encode(unquote(user).encode()).decode()}
    values = {value for value in _QUERY_VALUE.findall(parts.query) if len(value) >= LEAST}
    return frozenset(found | values | {unquote_plus(value) for value in values}) - {""}


def redact(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):  # one may be a part of another
        text = text.replace(secret, HIDDEN)
    return text
