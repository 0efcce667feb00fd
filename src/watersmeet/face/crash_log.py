"""Crash log: the details of an unexpected error go to a file in the cache folder, not to the screen or the answer."""

from __future__ import annotations

import os
import traceback

from watersmeet.core.files import make_private, replace_file
from watersmeet.engine.settings.settings import cache_folder


def log_crash(error: BaseException) -> str:
    """Writes the crash log of a command, with its whole traceback; returns the hint for the user."""
    path = _write("last-error.txt", "".join(traceback.format_exception(error)))
    return f"this is a defect; the details are in {path or 'no file: the cache folder cannot be written'}"


def log_server_crash(error: BaseException) -> str:
    """Writes the crash log of a server, without the error's message, which may hold a query; returns the hint."""
    text = f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
    if _write("last-server-error.txt", text):
        return "this is a defect; the details are in last-server-error.txt in the server's cache folder"
    return "this is a defect; its details were not saved: the cache folder cannot be written"


def _write(name: str, text: str) -> str:
    """The path of the file, empty if it cannot be written."""
    folder = cache_folder()
    path = os.path.join(folder, name)
    try:
        make_private(folder)
        replace_file(path, text.encode("utf8", "replace"))
    except OSError:
        return ""
    return path
