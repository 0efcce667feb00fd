"""The Markdown parser: CommonMark with tables, footnotes, task lists and wikilinks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyromark import Markdown


@cache
def commonmark(alerts: bool = False) -> Markdown:
    """The parser. `alerts`: `[!NOTE]` at the beginning of a quotation is a mark of it, and not text."""
    from pyromark import Markdown, Options

    options = (
        Options.ENABLE_TABLES
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_WIKILINKS
    )
    return Markdown(options=options | Options.ENABLE_GFM if alerts else options)
