"""Where the details of a server's defect go: a file. The error's own words do not, for they may hold what was asked."""

from __future__ import annotations

import os
import traceback

from watersmeet.core.files import make_private, replace_file
from watersmeet.engine.settings.settings import cache_folder


def keep(error: BaseException) -> str:
    """The hint for whoever runs the server."""
    place = os.path.join(cache_folder(), "last-server-error.txt")
    try:
        make_private(os.path.dirname(place))
        details = f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
        replace_file(place, details.encode("utf8", "replace"))
    except OSError:
        return "its details could not be kept: the cache folder cannot be written"
    return "this is a defect; the details are in last-server-error.txt in the server's cache folder"
