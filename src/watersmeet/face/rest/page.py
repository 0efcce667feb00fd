"""The page: one file that a browser shows, which may load nothing and run nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from watersmeet.face.web.form import form

FILE = Path(__file__).parent.parent / "web" / "page.html"

router = APIRouter()


@router.get("/", include_in_schema=False)
async def page() -> Response:
    content, policy = _page()
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
    return Response(content, 200, headers, "text/html; charset=utf-8")


@cache
def _page() -> tuple[bytes, str]:
    """The file, and a policy that names the hash of each of its scripts and styles."""
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
