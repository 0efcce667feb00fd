"""Results on a terminal: highlighted passages, paths to click."""

from __future__ import annotations

import os

from rich.console import Console
from rich.text import Text

from watersmeet.core.model import Answer
from watersmeet.core.tokens import ASKING, surfaces
from watersmeet.present.answer import explain_line, place
from watersmeet.present.snippet import snippet


def print_answer(answer: Answer, explain: bool) -> None:
    console = Console(highlight=False, soft_wrap=False)
    marked = [word for word in surfaces(answer.query) if word.lower() not in ASKING]
    for number, result in enumerate(answer.results, 1):
        shown = os.path.relpath(result.path) if os.path.isabs(result.path) else result.path
        head = Text(f"{number:>2}. ", "dim")
        head.append(explain_line(result) if explain else place(result), "bold")
        console.print(head)
        link = Text(f"    {shown}:{result.lines[0]}", f"cyan link file://{result.path}")
        console.print(link.append(f"  {result.score:.3f}", "dim"))
        for line in snippet(result.text, answer.query):
            text = Text(f"    {line}")
            text.highlight_words(marked, "yellow", case_sensitive=False)
            console.print(text, overflow="ellipsis", no_wrap=True)
    took = f"{len(answer.results)} results, {answer.mode}, {answer.took_ms:.1f} ms"
    console.print(Text(took, "dim"))
