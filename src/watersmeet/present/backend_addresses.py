"""A filter that hides the addresses of backend servers from callers who may only read."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

PARTS = ("extra", "metadata")
"""The fields of a record that hold its unrecognized values."""
_BACKEND_KEYS = re.compile(
    r"proxy|upstream|internal|(?:backend|target|origin|service|private)[_-]?(?:ur[il]|host|address|endpoint)s?"
    r"|^(?:mcp|sse)[_-]?endpoint$",
    re.IGNORECASE,
)
_PRIVATE_SUFFIXES = (
    ".local",
    ".localhost",
    ".internal",
    ".intranet",
    ".lan",
    ".corp",
    ".svc",
    ".localdomain",
    ".home.arpa",
)


def without_backends(shown: Any) -> Any:
    """The same JSON without the addresses of backends that records name."""
    if isinstance(shown, list):
        return [without_backends(one) for one in shown]
    if not isinstance(shown, dict):
        return shown
    return {key: _without_addresses(value) if key in PARTS else without_backends(value) for key, value in shown.items()}


def _without_addresses(shown: Any) -> Any:
    if isinstance(shown, list):
        return [_without_addresses(one) for one in shown if not _is_private_address(one)]
    if not isinstance(shown, dict):
        return shown
    return {
        key: _without_addresses(value)
        for key, value in shown.items()
        if not _is_private_address(value) and not (_BACKEND_KEYS.search(key) and _has_text(value))
    }


def _has_text(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and bool(value)


def _is_private_address(value: Any) -> bool:
    """Whether it is a URL that only machines on the same network can reach."""
    if not isinstance(value, str) or "://" not in value[:40]:
        return False
    try:
        host = (urlsplit(value.strip()).hostname or "").rstrip(".")
    except ValueError:
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_SUFFIXES)
