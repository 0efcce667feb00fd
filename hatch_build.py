"""The description of the package: README.md without what a package index cannot show.

An index shows one page, without the files beside it: a link to one becomes its text, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^(?:!\[[^\]]*\]\([^)]*\)|<picture>.*?</picture>)\n\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\((?!https?:|#)[^)\s]+\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def description(readme: str) -> str:
    """The page by itself; blocks of code stay as they are."""
    parts = _FENCE.split(readme)
    parts[::2] = [_LINK.sub(r"\1", _PICTURE.sub("", part)) for part in parts[::2]]
    return "".join(parts)


class CustomMetadataHook(MetadataHookInterface):
    """What hatchling calls: see `[tool.hatch.metadata.hooks.custom]` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = description((Path(self.root) / "README.md").read_text("utf8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
