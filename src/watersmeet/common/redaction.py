"""Redaction of messages: keys, passwords and the values of URL queries become `***`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

HIDDEN = "***"
MAX_EXCERPT = 300
MIN_SECRET_LENGTH = 6
"""Shorter query values are not redacted, since they occur in any text; passwords and keys always are."""
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|pass", re.IGNORECASE)
_QUERY_VALUE = re.compile(r"(?<==)[^&;]*|^[^=&;]*$")


def shown(url: str) -> str:
    """URL for a message: without user and fragment, and without the values of its query."""
    from urllib.parse import urlsplit  # here: a search without an address does not need it

    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    user, at, host = parts.netloc.rpartition("@")
    query = _QUERY_VALUE.sub(lambda value: HIDDEN if value[0] else "", parts.query)
    return parts._replace(netloc=(HIDDEN if user else "") + at + host, query=query, fragment="").geturl()


def secrets_of(url: str, headers: Mapping[str, str]) -> frozenset[str]:
    """Secrets of a request, which its answer may repeat and a message must not."""
    import base64
    from urllib.parse import unquote, unquote_plus, urlsplit

    found: set[str] = set()
    for name, value in headers.items():
        if _SECRET_HEADER.search(name):
            found |= {value, value.rpartition(" ")[2]}  # `Bearer KEY`
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        password = user.partition(":")[2]
        found |= {user, password, unquote(password), base64.b64encode(unquote(user).encode()).decode()}
    values = {value for value in _QUERY_VALUE.findall(parts.query) if len(value) >= MIN_SECRET_LENGTH}
    return frozenset(found | values | {unquote_plus(value) for value in values}) - {""}


def excerpt(text: str, secrets: Collection[str]) -> str:
    """Beginning of an untrusted text, on one line, without secrets."""
    plain = "".join(character if character.isprintable() else " " for character in redact(text, secrets))
    return " ".join(plain.split())[:MAX_EXCERPT]


def redact(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):  # longest first: one may contain another
        text = text.replace(secret, HIDDEN)
    return text
