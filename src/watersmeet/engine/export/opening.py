"""Opening an export, which may come from a stranger: nothing in it is run, followed or written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from watersmeet.core.errors import IndexProblem
from watersmeet.core.files import check_plain_tree
from watersmeet.engine.engine import Engine
from watersmeet.engine.export.manifest import INDEX, Manifest, open_content
from watersmeet.engine.export.settings import load_export_settings
from watersmeet.engine.settings.settings import merge

READ_ONLY = {"serve": {"deepen": False, "watch": False}, "watch": {"stale": False}, "calibration": {"learn": False}}
"""Settings for an index that is never written."""


def open_export(
    folder: str, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Engine, Manifest]:
    """The engine of an export, and its manifest."""
    manifest, content = open_content(os.path.abspath(folder))
    check_plain_tree(content)
    settings = load_export_settings(content, merge(flags or {}, READ_ONLY), environ)
    engine = Engine(os.path.join(content, INDEX), settings)
    try:
        check: Any = getattr(engine.index, "check_frozen", None)
        if check is None:
            raise IndexProblem(f"{folder} cannot be opened by another store", 'leave index.store at "local"')
        check()
    except BaseException:
        engine.close()
        raise
    return engine, manifest
