"""Where the servers behind a registry really are: for those who run it, and for nobody else."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

PARTS = ("extra", "metadata")
"""Where a record keeps what is not understood of it."""
_NAMED = re.compile(
    r"proxy|upstream|internal|(?:backend|target|origin|service|private)[_-]?(?:ur[il]|host|address|endpoint)s?"
    r"|^(?:mcp|sse)[_-]?endpoint$",
    re.IGNORECASE,
)
_INSIDE = (".local", ".localhost", ".internal", ".intranet", ".lan", ".corp", ".svc", ".localdomain", ".home.arpa")


def without_backends(shown: Any) -> Any:
    """The same JSON without the addresses of backends that records name."""
    if isinstance(shown, list):
        return [without_backends(one) for one in shown]
    if not isinstance(shown, dict):
        return shown
    return {key: _open(value) if key in PARTS else without_backends(value) for key, value in shown.items()}


def _open(shown: Any) -> Any:
    if isinstance(shown, list):
        return [_open(one) for one in shown if not _inside(one)]
    if not isinstance(shown, dict):
        return shown
    return {
        key: _open(value)
        for key, value in shown.items()
        if not _inside(value) and not (_NAMED.search(key) and _says_anything(value))
    }


def _says_anything(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_says_anything, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and bool(value)


def _inside(value: Any) -> bool:
    """Whether it is an address that only machines beside this one can reach."""
    if not isinstance(value, str) or "://" not in value[:40]:
        return False
    try:
        host = (urlsplit(value.strip()).hostname or "").rstrip(".")
    except ValueError:
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_INSIDE)
