"""Why a file is left alone."""

from __future__ import annotations


class CannotEdit(Exception):
    """The file cannot be changed without risk to what else is in it; the message says why."""
