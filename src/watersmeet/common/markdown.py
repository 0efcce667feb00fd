"""Markdown as it is read everywhere: CommonMark with tables, footnotes, tasks, GitHub's quotes and wiki links."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyromark import Markdown


@cache
def markdown() -> Markdown:
    """The parser; what it gives are events with their place in the source, in bytes."""
    from pyromark import Markdown, Options

    return Markdown(
        options=Options.ENABLE_TABLES
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_GFM
        | Options.ENABLE_WIKILINKS
    )
