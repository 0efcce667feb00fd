"""Programs of others that are started from here."""

from __future__ import annotations

import os
from collections.abc import Mapping


def environment(added: Mapping[str, str], without: str) -> dict[str, str]:
    """The environment that such a process gets: all but the names that begin so, and these."""
    return {name: value for name, value in os.environ.items() if not name.startswith(without)} | dict(added)
