"""Where the details of a defect go: a file, not the user's screen."""

from __future__ import annotations

import traceback
from pathlib import Path

from watersmeet.engine.settings import cache_folder


def keep(error: BaseException) -> str:
    folder = Path(cache_folder())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "last-error.txt"
        path.write_text("".join(traceback.format_exception(error)), "utf8")
    except OSError:
        return "nowhere: the cache folder cannot be written"
    return str(path)
