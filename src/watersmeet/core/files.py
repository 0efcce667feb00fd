"""A file is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress


def replace_file(path: str, content: bytes, mode: int = 0o644) -> None:
    """The new content in place of the old; whoever reads meanwhile sees the one or the other.

    Until it is in place only its owner may read it, and no two writers share it.
    """
    handle, made = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=f".{os.path.basename(path)}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(made, mode)
        os.replace(made, path)
    except OSError:
        with suppress(OSError):
            os.unlink(made)
        raise
