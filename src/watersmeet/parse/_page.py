"""Blocks of an HTML page as Markdown, with headings, anchors and links: one pass over the element tree.

Text is not escaped: a search is for `__init__`, not for `\\_\\_init\\_\\_`. Relative links become `Link`s and only
their text stays; links to other sites keep their address.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from watersmeet.core.documents import Block, Link, Section
from watersmeet.core.limits import MAX_LINKS
from watersmeet.core.place import NOWHERE, Place
from watersmeet.parse._inline import markdown_link
from watersmeet.parse._values import clean

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_MAX_NODES = 300_000
_MAX_DEPTH = 150
_MAX_HEADINGS = 20_000
_MAX_HEADING_LENGTH = 500
_MAX_COLUMNS = 100
_MAX_ADDRESS_LENGTH = 300
"""Limits of a page: what is beyond is plain text, or left out with a warning."""

_BACKTICKS = re.compile(r"`{3,}")
_WORD_BREAKS = re.compile(r"\u00ad|(?<=\w)\u200b(?=\w)", re.ASCII)
"""Where a long word may be broken: `pg_stat_` and `activity` are one identifier."""
_LEFT_OUT = frozenset(
    "-comment audio base button canvas datalist dialog embed head iframe input link map meta nav noscript object "
    "option param script select source style svg template textarea title track video".split()
)
_BLOCKS = frozenset(
    "address article aside body center dd details div dt fieldset figcaption figure footer form header hgroup legend "
    "li main p section summary tbody td tfoot th thead tr".split()
)
_CODE = frozenset("code kbd samp tt".split())
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_PERMALINKS = frozenset(
    "headerlink header-anchor hash-link anchor-link anchorjs-link heading-anchor headinglink permalink anchor "
    "doc-anchor".split()
)
_PERMALINK_TEXTS = frozenset(("", "¶", "#", "§", "◆", "🔗", "\uf0c1", "\u200b"))
_EDIT_LINKS = frozenset(
    (
        *("edit", "[edit]", "edit this page", "edit page", "edit on github", "edit on gitlab", "edit on bitbucket"),
        *("edit this page on github", "improve this page", "suggest edits", "suggest changes", "view page source"),
        *("view source", "show source", "view on github", "copy"),
    )
)
_NOISE = frozenset(
    "breadcrumb breadcrumbs theme-doc-breadcrumbs wy-breadcrumbs wy-breadcrumbs-aside navheader navfooter "
    "sphinxsidebar sphinxsidebarwrapper related navigation navpath pagination pagination-nav pager "
    "rst-footer-buttons prev-next-area prev-next-footer theme-edit-this-page edit-this-page md-content__button "
    "md-source-file copybtn copy-button clipboard-copy btn-clipboard table-of-contents theme-doc-toc-mobile "
    "theme-doc-toc-desktop theme-doc-footer md-sidebar toc-tree bd-toc linenos linenodiv lineno linenumber "
    "viewcode-link viewcode-back skip-link skip-nav skipNav visually-hidden sr-only screen-reader-text sub-nav "
    "topNav bottomNav subNav fixedNav legal-copy hideme out-of-band mw-editsection mw-jump-link noprint "
    "cookie-banner share-buttons social-share sharedaddy".split()
)
"""Classes of navigation, edit links, copy buttons, line numbers and the like."""
_NOISE_ROLES = frozenset(("navigation", "search", "contentinfo", "banner"))
_NOTES = frozenset("note tip warning caution important admonition danger".split())
_LANGUAGE_PREFIXES = ("language-", "lang-", "highlight-source-", "highlight-", "src-", "brush:")
_NO_LANGUAGE = frozenset(("default", "none", "text", "notranslate", "plaintext", "plain", ""))


class Item(NamedTuple):
    """A block, or a heading if it has a level."""

    text: str
    level: int = 0
    anchor: str = ""
    kind: str = "paragraph"  # or list, code, table, quote, term


class Page:
    """Reads the elements of one page into `items` and `links`."""

    def __init__(self, addresses: bool = True, noscript: bool = False) -> None:
        self.items: list[Item] = []
        self.links: dict[Link, None] = {}
        self.warnings: dict[str, None] = {}
        self._addresses = addresses
        self._left_out = _LEFT_OUT - {"noscript"} if noscript else _LEFT_OUT
        self._inline: list[str] = []
        self._flushed = 0
        self._plain = 0  # inside a heading or term: no marks
        self._anchor = self._permalink = ""
        self._depth = self._nodes = self._headings = self._anchor_at = 0
        self._handlers: dict[str, Callable[[LexborNode], None]] = {
            **dict.fromkeys(_BLOCKS, self._block),
            **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), self._heading),
            **dict.fromkeys(_CODE, self._code),
            **dict.fromkeys(_MARKS, self._marked),
            **dict.fromkeys(("ul", "ol", "menu", "dir"), self._list),
            **dict.fromkeys(("pre", "listing", "xmp"), self._fence),
            "a": self._link,
            "blockquote": self._quote,
            "br": self._break,
            "dl": self._definitions,
            "hr": self._rule,
            "img": self._image,
            "table": self._table,
        }

    def read(self, node: LexborNode) -> None:
        self._block(node)

    # ------------------------------------------------------------ walking

    def _walk(self, node: LexborNode) -> None:
        if self._depth >= _MAX_DEPTH:
            self.warnings[f"elements nested more than {_MAX_DEPTH} deep: those inside are plain text"] = None
            self._inline.append(node.text(separator=" ").replace("\n", " "))
            return
        self._depth += 1
        handlers, inline = self._handlers, self._inline
        for child in node.iter(include_text=True):
            tag = child.tag
            if tag == "-text":
                inline.append((child.text_content or "").replace("\n", " "))
                continue
            if self._is_full():
                break
            if tag in self._left_out:
                continue
            attributes = child.attributes
            if attributes and _is_noise(tag or "", attributes):
                continue
            handler = handlers.get(tag or "")
            if handler is not None:
                handler(child)
            else:
                self._mark(attributes.get("id"))
                self._walk(child)
        self._depth -= 1

    def _is_full(self) -> bool:
        """Count an element; whether there were too many."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            self.warnings[f"more than {_MAX_NODES:,} elements: the others are not read"] = None
        return self._nodes > _MAX_NODES

    def _flush(self) -> None:
        """End of a paragraph."""
        if not self._inline:
            return
        fresh = not self._anchor or self._has_text()
        text = "".join(self._inline)
        self._inline.clear()
        self._anchor_at = 0
        self._flushed += 1
        if not text.isascii():
            text = _WORD_BREAKS.sub("", text)
        lines = (" ".join(line.split()) for line in text.split("\n"))
        text = "\n".join(line for line in lines if line)
        if text:
            self.items.append(Item(text))
            if fresh:
                self._anchor = ""

    def _mark(self, name: str | None, block: bool = False) -> None:
        """Note the name of an element: the anchor of a heading that comes before any text."""
        if name and (block or not self._anchor or self._has_text()):
            self._anchor, self._anchor_at = name, len(self._inline)

    def _has_text(self) -> bool:
        """Whether the current paragraph has text after the last anchor."""
        return any(map(str.strip, self._inline[self._anchor_at :]))

    def _inside(self, node: LexborNode) -> list[Item]:
        """The items of one element by themselves."""
        self._flush()
        outer, self.items = self.items, []
        self._walk(node)
        self._flush()
        inner, self.items = self.items, outer
        return inner

    def _taken(self, node: LexborNode) -> str | None:
        """The inline text of an element, taken out of the current paragraph; None if it holds blocks."""
        start, flushed = len(self._inline), self._flushed
        self._walk(node)
        if self._flushed != flushed:
            return None
        text = "".join(self._inline[start:])
        del self._inline[start:]
        return text

    # ------------------------------------------------------------ blocks

    def _block(self, node: LexborNode) -> None:
        self._flush()
        attributes = node.attributes
        if attributes:
            if attributes.get("class") == "title" and _classes(node.parent) & {"headertitle"}:  # doxygen
                self._heading(node)
                return
            self._mark(attributes.get("id"), block=True)
        self._walk(node)
        self._flush()

    def _heading(self, node: LexborNode) -> None:
        self._flush()
        tag = node.tag or ""
        level = 0 if _classes(node.parent) & _NOTES else int(tag[1]) if tag[1:].isdigit() else 1
        before, self._permalink = self._anchor, ""
        self._plain += 1
        items = self._inside(node)
        self._plain -= 1
        text = " ".join(" ".join(item.text.split()) for item in items)
        if not text:
            return
        anchor = self._permalink or node.id or before
        self._headings += 1
        if not level or len(text) > _MAX_HEADING_LENGTH or self._headings > _MAX_HEADINGS:
            self.items.append(Item(f"**{text}**" if not level else text))
        else:
            self.items.append(Item(text, level, anchor))
        self._anchor = self._permalink = ""

    def _list(self, node: LexborNode) -> None:
        self._flush()
        start = node.attributes.get("start") or "" if node.tag == "ol" else ""
        number = int(start) if start.isdecimal() and len(start) < 9 else 1
        lines: list[str] = []
        for child in node.iter():
            if child.tag in _LEFT_OUT or _is_noise(child.tag or "", child.attributes):
                continue
            if self._is_full():
                break
            items = self._inside(child)
            if any(item.level for item in items):  # a list that only arranges the page
                self._add(lines)
                self.items += items
                lines = []
                continue
            if items and child.tag != "li" and items[0].kind == "list":
                lines.append("  " + items[0].text.replace("\n", "\n  "))
                del items[0]
            if items:
                mark = f"{number}. " if node.tag == "ol" else "- "
                lines.append(mark + _joined(items).replace("\n", "\n" + " " * len(mark)))
                number += 1
        self._add(lines)

    def _add(self, lines: list[str]) -> None:
        if lines:
            self.items.append(Item("\n".join(lines), kind="list"))
            self._anchor = ""

    def _definitions(self, node: LexborNode) -> None:
        self._flush()
        terms: list[str] = []
        anchor = ""
        for child in node.iter():
            tag = child.tag
            if self._is_full():
                break
            if tag == "dt":
                self._permalink = ""
                self._plain += 1
                items = self._inside(child)
                self._plain -= 1
                terms += [item.text for item in items]
                anchor = anchor or child.id or self._permalink or self._anchor
                self._anchor = self._permalink = ""
            elif tag == "dd":
                items = self._inside(child)
                self._define(terms, anchor, items)
                terms, anchor = [], ""
            elif tag == "div":
                self._definitions(child)
            elif tag not in _LEFT_OUT:
                self._block(child)
        self._define(terms, anchor, [])

    def _define(self, terms: list[str], anchor: str, items: list[Item]) -> None:
        """Terms with the first paragraph of their definition as one block, the others as further blocks."""
        term = "\n".join(terms)
        if term and items and not items[0].level and items[0].kind == "paragraph":
            self.items.append(Item(f"{term}\n: " + items[0].text.replace("\n", "\n  "), 0, anchor, "term"))
            items = items[1:]
        elif term:
            self.items.append(Item(term, 0, anchor, "term"))
        self.items += (item if item.anchor else item._replace(anchor=anchor) for item in items)

    def _fence(self, node: LexborNode) -> None:
        self._flush()
        for line_break in node.css("br"):
            line_break.replace_with("\n")
        lines = [line.rstrip() for line in node.text().replace("\r", "").split("\n")]
        text = "\n".join(lines).strip("\n")
        if text.strip():
            mark = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
            self.items.append(Item(f"{mark}{_language(node)}\n{text}\n{mark}", kind="code"))
            self._anchor = ""

    def _quote(self, node: LexborNode) -> None:
        items = self._inside(node)
        if any(item.level for item in items):
            self.items += items
        elif items:
            self.items.append(Item("> " + _joined(items).replace("\n", "\n> "), kind="quote"))

    def _rule(self, node: LexborNode) -> None:
        self._flush()

    # ------------------------------------------------------------ tables

    def _table(self, node: LexborNode) -> None:
        self._flush()
        rows: list[list[list[Item]]] = []
        header = -1
        for part in node.iter():
            if part.tag == "caption":
                self.items += self._inside(part)
            for row in (part,) if part.tag == "tr" else part.iter() if part.tag in ("thead", "tbody", "tfoot") else ():
                cells, titles = self._cells(row)
                if cells:
                    if header < 0 and not rows and (part.tag == "thead" or titles == len(row_cells(cells))):
                        header = 0
                    rows.append(cells)
        width = max(map(len, rows), default=0)
        every = [cell for row in rows for cell in row]
        arranged = width < 2 or any(item.level or item.kind == "table" or _is_long(item) for c in every for item in c)
        if arranged or node.attributes.get("role") == "presentation":
            for cell in every:
                self.items += cell
            return
        written = ["| " + " | ".join(map(_cell, row + [[]] * (width - len(row)))) + " |" for row in rows]
        if header < 0:
            written.insert(0, "|" + "  |" * width)
        written.insert(1, "|" + "---|" * width)
        self.items.append(Item("\n".join(written), kind="table"))
        self._anchor = ""

    def _cells(self, row: LexborNode) -> tuple[list[list[Item]], int]:
        """Cells of a row, one for each column that they span, and how many of them are titles."""
        cells: list[list[Item]] = []
        titles = 0
        for cell in row.iter():
            attributes = cell.attributes
            if cell.tag not in ("td", "th") or len(cells) >= _MAX_COLUMNS or _is_noise("td", attributes):
                continue
            if self._is_full():
                break
            span = attributes.get("colspan") or "1"
            wide = int(span) if span.isdecimal() and len(span) < 4 else 1
            cells.append(self._inside(cell))
            titles += cell.tag == "th"
            cells += [[] for _ in range(min(wide, _MAX_COLUMNS) - 1)]
        return cells, titles

    # ------------------------------------------------------------ inline

    def _break(self, node: LexborNode) -> None:
        self._inline.append("\n")

    def _code(self, node: LexborNode) -> None:
        text = " ".join(node.text().split())
        if not text:
            return
        mark = "``" if "`" in text else "`"
        self._inline.append(text if self._plain else f"{mark}{text}{mark}")

    def _marked(self, node: LexborNode) -> None:
        if self._plain:
            self._walk(node)
            return
        text = self._taken(node)
        if text is None:
            return
        inner = text.strip()
        if inner and inner[0] not in "`*[":
            mark = _MARKS[node.tag or ""]
            start = len(text) - len(text.lstrip())
            text = f"{text[:start]}{mark}{inner}{mark}{text[start + len(inner) :]}"
        self._inline.append(text)

    def _image(self, node: LexborNode) -> None:
        text = " ".join((node.attributes.get("alt") or "").split())
        if text:
            self._inline.append(f" {text} ")

    def _link(self, node: LexborNode) -> None:
        attributes = node.attributes
        href = (attributes.get("href") or "").strip()
        self._mark(attributes.get("id") or attributes.get("name"))
        if href.startswith("#") and self._is_permalink(node, attributes.get("class") or ""):
            self._permalink = href[1:]
            return
        text = self._taken(node)
        if text is None:
            return
        words = " ".join(text.split())
        if words.casefold() in _EDIT_LINKS and not href.startswith("#"):
            return
        address = href.startswith(("http:", "https:"))
        if href and not address and len(self.links) <= MAX_LINKS:
            path, mark, fragment = href.partition("#")
            link = markdown_link(path.partition("?")[0] + mark + fragment, words.replace("`", ""))
            if link:
                self.links[link] = None
        elif address and words not in ("", href) and "\n" not in text and self._shows(href):
            text = text.replace(text.strip(), f"[{words}]({href})")
        self._inline.append(text)

    def _shows(self, address: str) -> bool:
        return self._addresses and not self._plain and len(address) <= _MAX_ADDRESS_LENGTH and " " not in address

    def _is_permalink(self, node: LexborNode, classes: str) -> bool:
        text = node.text().strip()
        return text in _PERMALINK_TEXTS and (bool(text) or not _PERMALINKS.isdisjoint(classes.split()))


def _classes(node: LexborNode | None) -> set[str]:
    return set((node.attributes.get("class") or "").split()) if node is not None else set()


def _is_noise(tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether an element is no part of the text."""
    classes = attributes.get("class")
    if classes and not _NOISE.isdisjoint(classes.split()):
        return True
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if tag == "a" and classes and "src" in classes.split():  # rustdoc
        return True
    return attributes.get("role") in _NOISE_ROLES


def row_cells(cells: list[list[Item]]) -> list[list[Item]]:
    """Cells of a row that hold something."""
    return [cell for cell in cells if cell]


def _is_long(item: Item) -> bool:
    """Whether an item is code of several lines, which no cell of a Markdown table can hold."""
    return item.kind == "code" and item.text.count("\n") > 2


def _cell(items: list[Item]) -> str:
    texts = (f"`{item.text.split(chr(10))[1]}`" if item.kind == "code" else item.text for item in items)
    return " ".join(" ".join(texts).split()).replace("|", "\\|")


def _joined(items: list[Item]) -> str:
    """Blocks of a list item or quotation as one text."""
    parts = [items[0].text]
    for item in items[1:]:
        parts += ("\n" if item.kind == "list" else "\n\n", item.text)
    return "".join(parts)


def _language(node: LexborNode) -> str:
    """Language of a code block, from the classes of its element, of `code` in it, or of the elements around it."""
    around = node.parent
    for element in (node, node.css_first("code"), around, around.parent if around else None):
        if element is None:
            continue
        attributes = element.attributes
        if attributes.get("data-lang"):
            return _plain_language(attributes["data-lang"] or "")
        classes = (attributes.get("class") or "").replace("brush: ", "brush:").split()
        for name in classes:
            for prefix in _LANGUAGE_PREFIXES:
                if name.startswith(prefix):
                    return _plain_language(name[len(prefix) :])
        if "sourceCode" in classes and classes[-1] != "sourceCode":
            return _plain_language(classes[-1])
    return ""


def _plain_language(name: str) -> str:
    name = name.strip().strip(";").casefold()
    if name in _NO_LANGUAGE or len(name) > 30 or not name.replace("-", "").replace("+", "").replace("#", "").isalnum():
        return ""
    return {"python3": "python", "pycon3": "pycon", "py": "python", "shell": "sh"}.get(name, name)


def sections(items: list[Item]) -> tuple[Section, ...]:
    """Sections of a page: each heading with the blocks under it."""
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    level, anchor, blocks = 0, "", list[Block]()
    places = {"": NOWHERE}

    def close() -> None:
        if level or blocks:
            found.append(Section(tuple(text for _, text in path), level, places[anchor], tuple(blocks)))

    for item in items:
        if item.anchor not in places:
            places[item.anchor] = Place(anchor=clean(item.anchor))
        if item.level:
            close()
            while path and path[-1][0] >= item.level:
                path.pop()
            path.append((item.level, item.text))
            level, anchor, blocks = item.level, item.anchor, []
        else:
            blocks.append(Block(item.text, places[item.anchor]))
    close()
    return tuple(found)
