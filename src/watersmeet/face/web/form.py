"""The page's controls, made from the declaration of a search."""

from __future__ import annotations

from dataclasses import Field, fields
from html import escape
from typing import get_type_hints

from watersmeet.face.search import SearchParams

OWN = frozenset({"query", "top_n", "filters", "exclude", "explain", "why_not", "budget"})
"""What the page asks for in its own way, or always, or never."""
FIRST, DATES = ("mode", "recipe"), ("since", "before")


def form() -> dict[str, str]:
    """A labelled control for each of the others, with its meaning as a tooltip: what stands first, and in the place of
    the page's second comment the dates, and those that are seldom used folded."""
    hints = get_type_hints(SearchParams)
    made = {one.name: _pair(one, hints[one.name]) for one in fields(SearchParams) if one.name not in OWN}
    first, dates = ([made.pop(name) for name in names] for names in (FIRST, DATES))
    folded = f'<details class="more"><summary>More</summary>{"".join(made.values())}</details>'
    return {"first": "\n    ".join(first), "others": "\n    ".join([*dates, folded])}


def _pair(one: Field[object], hint: object) -> str:
    label = one.name.replace("_", " ").capitalize()
    meaning = escape(one.metadata["meaning"])
    return f'<div class="pair" title="{meaning}"><label for="{one.name}">{label}</label>{_control(one, hint)}</div>'


def _control(one: Field[object], hint: object) -> str:
    named = f'id="{one.name}" data-parameter'
    about = one.metadata
    if about["choices"]:
        listed = "".join(f"<option>{escape(choice)}</option>" for choice in about["choices"]())
        return f'<select {named}><option value="">usual</option>{listed}</select>'
    if hint is bool:
        return f'<input {named} type="checkbox">'
    if hint in (int, float):
        return f'<input {named} type="number" min="{about["least"]}" max="{about["most"]}" step="any">'
    kind = "date" if about["metavar"] == "DATE" else "text"
    longest = f' maxlength="{about["longest"]}"' if about["longest"] else ""
    return f'<input {named} type="{kind}" autocomplete="off"{longest}>'
