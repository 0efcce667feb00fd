"""Results on a terminal: highlighted passages, paths to click."""

from __future__ import annotations

import re
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from watersmeet.core.model import Answer, Result
from watersmeet.core.tokens import ASKING, surfaces
from watersmeet.face.cli.common import near
from watersmeet.present.answer import explain_line, place
from watersmeet.present.snippet import snippet


def print_answer(answer: Answer, explain: bool, quiet: bool) -> None:
    console = Console(highlight=False)
    asked = _asked(answer.query)
    for number, result in enumerate(answer.results, 1):
        console.print(_head(number, result, explain), no_wrap=True, overflow="ellipsis")
        console.print(_where(result), no_wrap=True, overflow="ellipsis")
        for line in snippet(result.text, answer.query, console.width - 6):
            text = Text(f"    {line}")
            if asked:
                text.highlight_regex(asked, "bold yellow")
            console.print(text, no_wrap=True, overflow="ellipsis")
        console.print()
    if answer.results and not quiet:
        count = f"{len(answer.results)} result{'s' if len(answer.results) > 1 else ''}"
        console.print(Text(f"{count}, {answer.mode}, {answer.took_ms:.1f} ms", "dim"))


def _head(number: int, result: Result, explain: bool) -> Text:
    return Text(f"{number:>2}. ").append(explain_line(result) if explain else place(result), "bold")


def _where(result: Result) -> Text:
    link = f"cyan link file://{quote(result.path)}" if result.path.startswith("/") else "cyan"
    return Text("    ").append(f"{near(result.path)}:{result.lines[0]}", link).append(f"  {result.score:.3f}", "dim")


def _asked(query: str) -> re.Pattern[str] | None:
    """The words of the query, also with an ending, as whole words."""
    words = {re.escape(word) for word in surfaces(query) if word.lower() not in ASKING}
    if not words:
        return None
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?:'?\w{{0,3}})(?!\w)", re.IGNORECASE)
