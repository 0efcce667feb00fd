"""Links of a page, found without parsing it: native parsers crash on hostile pages, and here is the index."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

MAX_LINKS = 5_000
_TAG = re.compile(r"<(a|area|link|base|meta)\s([^<>]{1,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"(?<![\w-])(href|rel|http-equiv|content)\s{0,9}=\s{0,9}(?:\"([^\"]{0,4000})\"|'([^']{0,4000})'|([^\s\"'<>]{1,4000}))",
    re.IGNORECASE,
)
_REFRESH = re.compile(r"[\d.]{0,9}\s{0,9}[;,]\s{0,9}(?:url\s{0,9}=\s{0,9})?[\"']?([^\s\"']{1,2000})", re.IGNORECASE)
_WITHOUT_PAGES = ("mailto:", "javascript:", "data:", "tel:", "#")


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Links of a page as written, with the address that they are relative to."""

    links: tuple[str, ...]
    canonical: str = ""
    base: str = ""


def links_of(text: str) -> PageLinks:
    """Links of a page, those with `rel=nofollow` left out."""
    links: dict[str, None] = {}
    canonical = base = ""
    for match in _TAG.finditer(_without(_without(text, "<!--", "-->"), "<script", "</script")):
        tag = match[1].lower()
        attributes = {found[1].lower(): html.unescape(_value(found)).strip() for found in _ATTRIBUTE.finditer(match[2])}
        if attributes.get("http-equiv", "").lower() == "refresh":  # such a page only forwards to another one
            forward = _REFRESH.match(attributes.get("content", ""))
            links |= {forward[1]: None} if forward else {}
        href, relations = attributes.get("href", ""), attributes.get("rel", "").lower().split()
        if not href:
            continue
        if tag == "base":
            base = base or href
        elif tag == "link":
            canonical = canonical or (href if "canonical" in relations else "")
        elif "nofollow" not in relations and not href.lower().startswith(_WITHOUT_PAGES):
            links[href] = None
            if len(links) == MAX_LINKS:
                break
    return PageLinks(tuple(links), canonical, base)


def _value(match: re.Match[str]) -> str:
    return match[2] or match[3] or match[4] or ""


def _without(text: str, start: str, end: str) -> str:
    """The text without what is between these marks; what is never closed reaches to the end."""
    folded = text.lower()
    if start not in folded or len(folded) != len(text):
        return text
    kept, place = [], 0
    while (begin := folded.find(start, place)) >= 0:
        kept.append(text[place:begin])
        stop = folded.find(end, begin + len(start))
        if stop < 0:
            return "".join(kept)
        place = stop + len(end)
    kept.append(text[place:])
    return "".join(kept)
