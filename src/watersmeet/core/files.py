"""A file is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress


def replace_file(path: str, content: bytes, mode: int | None = None) -> None:
    """The new content in place of the old; whoever reads meanwhile sees the one or the other.

    Without a `mode` it is as open as the user lets new files be. No two writers share what is not in place yet.
    """
    folder, name = os.path.split(path)
    made = os.path.join(folder, f".{name}-{secrets.token_hex(6)}")
    try:
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600), "wb") as file:
            file.write(content)
        if mode is not None:
            os.chmod(made, mode)
        os.replace(made, path)
    finally:
        with suppress(OSError):  # it is in place by now, unless something went wrong
            os.unlink(made)
