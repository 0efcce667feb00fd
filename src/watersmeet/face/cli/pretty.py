"""Search results on a terminal: highlighted passages, clickable paths."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import PurePath

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from watersmeet.core.model import Answer, Evidence, Result
from watersmeet.core.place import located
from watersmeet.core.tokens import QUESTION_WORDS, surfaces
from watersmeet.face.cli.common import relative
from watersmeet.face.cli.streams import console, one_line
from watersmeet.present.answer import breadcrumb, explain_line, in_order, location
from watersmeet.present.groups import Group, further
from watersmeet.present.snippet import snippet

BAR = 20
COLOURS = {
    "lexical": "blue",
    "keyword": "blue",
    "dense": "yellow",
    "static": "green",
    "sparse": "magenta",
    "exact": "cyan",
}


def print_answer(groups: Sequence[Group], answer: Answer, last_line: str, explain: bool) -> None:
    """Documents with their best passages; `last_line` says what was found."""
    screen = console()
    query_words = _query_words(answer.query)
    for number, group in enumerate(groups, 1):
        result = group.best
        _print_line(screen, _head(number, result, explain))
        _print_line(screen, _where(result, screen.width))
        for row in _shares(result) if explain else ():
            _print_line(screen, row)
        for line in snippet(result.text, answer.query, screen.width - 6, kind=result.kind):
            text = Text(f"    {one_line(line)}")
            if query_words:
                text.highlight_regex(query_words, "bold yellow")
            _print_line(screen, text)
        for line in further(group):
            _print_line(screen, Text(f"    {one_line(line)}", "dim"))
        screen.print()
    if last_line:
        screen.print(Text(last_line, "dim"))


def _print_line(screen: Console, text: Text) -> None:
    screen.print(text, no_wrap=True, overflow="ellipsis")


def _head(number: int, result: Result, explain: bool) -> Text:
    return Text(f"{number:>2}. ").append(one_line(explain_line(result) if explain else breadcrumb(result)), "bold")


def _where(result: Result, width: int) -> Text:
    """Path and score. A path that is too long loses its beginning, so that file and line remain."""
    score = f"  {result.score:.3f}"
    place = one_line(location(result, relative))
    room = width - 5 - len(score)
    while cell_len(place) > room > 10:
        place = f"…{place[max(2, len(place) - room + 1) :]}"
    return Text("    ").append(place, _linked(result.path)).append(score, "dim")


def _shares(result: Result) -> list[Text]:
    """Contributions of the signals, as bars that add up to the fused score; then the stages that changed it."""
    contributions = [e for e in in_order(result.evidence) if "contribution" in e.detail]
    most = max((abs(e.detail["contribution"]) for e in contributions), default=0.0) or 1.0
    rows = [_share(e, most) for e in contributions]
    rows += [Text(f"    {e.by}: x {e.detail['factor']:g}", "dim") for e in result.evidence if "factor" in e.detail]
    rows += [Text(f"    {e.by}: + {e.detail['bonus']:.4f}", "dim") for e in result.evidence if "bonus" in e.detail]
    rows += [Text(f"    {e.by}: {one_line(e.detail['path'])}", "dim") for e in result.evidence if e.detail.get("path")]
    return [*rows, Text(f"    {'fused':<{BAR + 12}}{result.fusion_score:.4f}", "bold")]


def _share(e: Evidence, most: float) -> Text:
    share = e.detail["contribution"]
    colour = COLOURS.get(e.by, "white") if share >= 0 else "red"
    row = Text(f"    {e.by:<11}").append("█" * max(1, round(BAR * abs(share) / most)), colour)
    row.pad_right(BAR + 16 - len(row.plain))
    scaled = {"scaled", "weight"} <= set(e.detail)
    product = f" = {e.detail['scaled']:.3f} x {e.detail['weight']:.3f}" if scaled else ""
    notes = "".join(f", {mark}" for mark in ("estimated", "filled") if e.detail.get(mark))
    return row.append(f"{share:.4f}").append(f"{product}, score {e.score:.4f}{notes}", "dim")


def print_head(title: str, path: str, where: str) -> None:
    """Title and clickable path of a document, with the place of the part that is shown."""
    screen = console()
    screen.print(Text(one_line(title), "bold"))
    screen.print(Text(one_line(located(relative(path), where)), _linked(path)), soft_wrap=True)
    screen.print()


def _linked(path: str) -> str:
    return f"cyan link {PurePath(path).as_uri()}" if os.path.isabs(path) else "cyan"


def _query_words(query: str) -> re.Pattern[str] | None:
    """A pattern for the words of the query, as whole words with up to three more letters."""
    words = {re.escape(word) for word in surfaces(query) if word.lower() not in QUESTION_WORDS}
    if not words:
        return None
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?:'?\w{{0,3}})(?!\w)", re.IGNORECASE)
