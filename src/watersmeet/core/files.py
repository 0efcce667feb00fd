"""A file is written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress


def replace_file(path: str, content: bytes) -> None:
    """The new content in place of the old; whoever reads meanwhile sees the one or the other."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
