"""The web page: one file, with a content security policy that lets it load and run nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import Field, fields
from functools import cache
from html import escape
from pathlib import Path
from typing import get_type_hints

from fastapi import APIRouter
from starlette.responses import Response

from watersmeet.face.search import SearchParams

FILE = Path(__file__).parent.parent / "web" / "page.html"
OWN = frozenset({"query", "top_n", "filters", "exclude", "explain", "why_not", "budget"})
"""Parameters for which the page has its own control, a fixed value or none."""
FIRST, DATES = ("mode", "recipe"), ("since", "before")

router = APIRouter()


@router.get("/", include_in_schema=False)
async def page() -> Response:
    content, policy = _page()
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
    return Response(content, 200, headers, "text/html; charset=utf-8")


@cache
def _page() -> tuple[bytes, str]:
    """The page, and a content security policy with the hash of each of its scripts and styles."""
    content = FILE.read_bytes()
    for place, controls in form().items():
        content = content.replace(f"<!-- parameters: {place} -->".encode(), controls.encode())
    allowed = {
        element: " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
            for text in re.findall(rb"<%b\b[^>]*>(.*?)</%b>" % (element, element), content, re.DOTALL)
        )
        or "'none'"
        for element in (b"script", b"style")
    }
    return content, "; ".join(
        (
            "default-src 'none'",
            f"script-src {allowed[b'script']}",
            f"style-src {allowed[b'style']}",
            "connect-src 'self'",
            "img-src 'self' data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


# ---------------------------------------------------------------- form controls, generated from `SearchParams`


def form() -> dict[str, str]:
    """HTML controls for the other parameters, each with a label and a tooltip, by their place in the page: `first`, and
    `others` with the dates and, folded, those that are seldom used."""
    hints = get_type_hints(SearchParams)
    controls = {one.name: _pair(one, hints[one.name]) for one in fields(SearchParams) if one.name not in OWN}
    first, dates = ([controls.pop(name) for name in names] for names in (FIRST, DATES))
    folded = f'<details class="more"><summary>More</summary>{"".join(controls.values())}</details>'
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
        return f'<select {named}><option value="">default</option>{listed}</select>'
    if hint is bool:
        return f'<input {named} type="checkbox">'
    if hint in (int, float):
        return f'<input {named} type="number" min="{about["least"]}" max="{about["most"]}" step="any">'
    kind = "date" if about["metavar"] == "DATE" else "text"
    longest = f' maxlength="{about["longest"]}"' if about["longest"] else ""
    return f'<input {named} type="{kind}" autocomplete="off"{longest}>'
