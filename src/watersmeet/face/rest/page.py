"""The web page: markup, style and scripts, with a content security policy that lets it load and run nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import Field, fields
from functools import cache
from html import escape
from pathlib import Path
from typing import get_type_hints

from fastapi import APIRouter
from starlette.responses import Response

from watersmeet.face.rest.problems import Refused
from watersmeet.face.search import SearchParams

FOLDER = Path(__file__).parent.parent / "web"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
OWN = frozenset({"query", "top_n", "filters", "exclude", "explain", "why_not", "budget", "offset", "facets"})
"""Parameters for which the page has its own control, a fixed value or none."""
DATES = ("since", "before")

router = APIRouter()


@router.get("/quality", include_in_schema=False)
@router.get("/", include_in_schema=False)
@router.get("/doc/{identity:path}", include_in_schema=False)
async def page() -> Response:
    """The page. It shows the document of its address itself, as far as the caller may see it."""
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
    return Response(markup(), 200, headers, "text/html; charset=utf-8")


@router.get("/web/{version}/{name}", include_in_schema=False)
async def file(version: str, name: str) -> Response:
    """A style or script. Its address changes with its content, so that a browser may keep it."""
    files = page_files()
    if version != content_version() or name not in files:
        raise Refused(404, "the page has no such file", "load the page anew")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(files[name], 200, headers, TYPES[Path(name).suffix])


@cache
def page_files() -> dict[str, bytes]:
    """The style and the scripts, by name; nothing else of the folder is served."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}


@cache
def content_version() -> str:
    content = hashlib.sha256()
    for name, text in page_files().items():
        content.update(f"{name} {len(text)}\n".encode() + text)
    return content.hexdigest()[:16]


@cache
def markup() -> bytes:
    """The page with the controls of the parameters, and the addresses of its files."""
    content = (FOLDER / "page.html").read_text("utf8")
    for place, controls in {"files": _file_links(), **form()}.items():
        content = content.replace(f"<!-- {place} -->", controls)
    return content.encode()


def _file_links() -> str:
    folder = f"/web/{content_version()}"
    styles = [name for name in page_files() if name.endswith(".css")]
    scripts = [name for name in page_files() if name.endswith(".js")]
    return "\n".join(
        (
            *(f'<link rel="stylesheet" href="{folder}/{name}">' for name in styles),
            *(f'<link rel="modulepreload" href="{folder}/{name}">' for name in scripts),
            f'<script type="module" src="{folder}/main.js"></script>',
        )
    )


# ---------------------------------------------------------------- form controls, generated from `SearchParams`


def form() -> dict[str, str]:
    """HTML controls for the other parameters, each with a label and a tooltip, by their place in the page: the dates,
    which everybody sees, and the expert controls."""
    hints = get_type_hints(SearchParams)
    controls = {one.name: _pair(one, hints[one.name]) for one in fields(SearchParams) if one.name not in OWN}
    dates = [controls.pop(name) for name in DATES]
    return {"parameters: dates": "\n        ".join(dates), "parameters: expert": "\n    ".join(controls.values())}


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
