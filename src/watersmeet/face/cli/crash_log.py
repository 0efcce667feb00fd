"""Where the details of a defect go: a file, not the user's screen."""

from __future__ import annotations

import traceback
from pathlib import Path

from watersmeet.core.files import make_private, replace_file
from watersmeet.engine.settings.settings import cache_folder


def keep(error: BaseException) -> str:
    folder = Path(cache_folder())
    try:
        make_private(str(folder))
        path = folder / "last-error.txt"
        replace_file(str(path), "".join(traceback.format_exception(error)).encode("utf8", "replace"))
    except OSError:
        return "nowhere: the cache folder cannot be written"
    return str(path)
