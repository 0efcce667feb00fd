"""Texts of documents for display: a tree of elements, made from Markdown, source code or plain text.

A text is not trusted, so no markup of it is passed on. The tree is made from the events of the Markdown parser and has
only the elements and attributes named here; what builds it into a page needs no HTML parser. HTML in Markdown is read
as far as it means one of these elements, and shown as text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from watersmeet.common.markdown import markdown
from watersmeet.core.names import CODE

Node = Any
"""A text, or an element: `[name, attributes, *nodes]`. JSON, so that it is what it is sent as."""
FindDocument = Callable[[str, str], str | None]
"""The id of the document that a target means, in a link of this type (`wiki`, `markdown`); None: there is none."""

MARKDOWN, PLAIN = "markdown", "plain"
MARKDOWN_ENDINGS = tuple(
    ".md .markdown .mdx .html .htm .xhtml .ipynb .csv .tsv .docx .pptx .xlsx .odt .ods .odp .rtf .epub .doc .ppt .xls"
    .split()
)  # fmt: skip
"""Endings of files that are Markdown, or that parsers convert to it."""
MAX_EVENTS = 300_000
MAX_DEPTH = 40
"""Parser events that are read, and elements inside of each other; what goes beyond is text."""
MAX_ANCHOR = 200

_BLOCKS = {
    "Paragraph": "p", "Item": "li", "TableHead": "tr", "TableRow": "tr", "TableCell": "td",
    "Emphasis": "em", "Strong": "strong", "Strikethrough": "del", "Subscript": "sub", "Superscript": "sup",
    "HtmlBlock": "div", "MetadataBlock": "pre",
}  # fmt: skip
_HTML = frozenset("b i em strong u s del ins code kbd sub sup mark small q cite var samp abbr dfn".split())
_HTML_BLOCKS = frozenset(
    "p ul ol li blockquote pre table thead tbody tr th td details summary h1 h2 h3 h4 h5 h6".split()
)
_HTML_EMPTY = frozenset(("br", "hr"))
_HTML_THROUGH = frozenset("div span center section article figure figcaption font nav header footer main tfoot".split())
"""HTML that leaves no trace but its content."""
NAMES = frozenset({*_HTML, *_HTML_BLOCKS, *_HTML_EMPTY, "a", "div", "span", *_BLOCKS.values()})
"""Every element that a tree can have."""
_CALLOUTS = frozenset("note info tip warning danger question example quote success failure bug todo abstract".split())
_CALLOUT_NAMES = {
    "important": "tip", "hint": "tip", "caution": "warning", "attention": "warning", "error": "danger",
    "fail": "failure", "missing": "failure", "check": "success", "done": "success", "help": "question",
    "faq": "question", "summary": "abstract", "tldr": "abstract", "cite": "quote",
}  # fmt: skip
_CALLOUT = re.compile(r"\[!([\w-]{1,40})\]([+-]?)[ \t]*([^\n]*)\n?")
_HIGHLIGHT = re.compile(r"==([^=\n]+)==")
_COMMENT = re.compile(r"%%[^%\n]*%%")
_BLOCK_ID = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]{1,80})\s*$")
_OWN_ANCHOR = re.compile(r"#([\w.:-]{1,200})\}")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)/?>")
_ATTRIBUTE = re.compile(r"(?<![A-Za-z-])([A-Za-z-]{1,20})\s{0,9}=\s{0,9}(\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//|\\\\")
_OPENED = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20<>\"\\^`{|}]+", re.IGNORECASE)
"""Addresses that a link may lead to. Everything else that has a scheme is not a link."""
_NO_SLUG = re.compile(r"[^\w\- ]")
_FENCES = ("```", "~~~")


class Passage(NamedTuple):
    """The part of a text that was found: from character to character."""

    start: int
    end: int


def form_of(kind: str, document: str, path: str = "") -> str:
    """How the text of a document is written: as Markdown, source code or plain text."""
    if kind == CODE:
        return CODE
    name = document.casefold()
    is_page = path.startswith(("http://", "https://")) and "." not in name.rpartition("/")[2]
    return MARKDOWN if kind in ("document", "api") and (name.endswith(MARKDOWN_ENDINGS) or is_page) else PLAIN


def rich_text(
    text: str, form: str, find: FindDocument | None = None, base: str = "", passage: Passage | None = None
) -> list[Node]:
    """The tree of a text. `find` resolves links to documents; without it, links are text. `base`: the address of a web
    page, which its links are relative to. The blocks of the `passage` are in an element of the class `passage`."""
    if form == CODE:
        return _code(text, passage)
    if form == MARKDOWN:
        return _Builder(find, base).build(text, passage)
    return _plain(text, passage)


def slug(heading: str) -> str:
    """Anchor of a heading, as most sites make it."""
    return _NO_SLUG.sub("", heading.strip().casefold()).replace(" ", "-")[:MAX_ANCHOR]


def element(name: str, attributes: dict[str, Any] | None = None, *nodes: Node) -> list[Node]:
    return [name, attributes or {}, *nodes]


# ---------------------------------------------------------------- code and plain text


def _code(text: str, passage: Passage | None) -> list[Node]:
    if passage is None:
        return [element("pre", {"class": "code"}, text)]
    start = text.rfind("\n", 0, passage.start) + 1
    end = text.find("\n", passage.end)
    end = len(text) if end < 0 else end + 1
    found = element("pre", {"class": "code"}, text[start:end])
    parts = [
        element("pre", {"class": "code"}, text[:start]) if text[:start].strip() else None,
        element("div", {"class": "passage"}, found),
        element("pre", {"class": "code"}, text[end:]) if text[end:].strip() else None,
    ]
    return [part for part in parts if part is not None]


def _plain(text: str, passage: Passage | None) -> list[Node]:
    """Paragraphs as they are written; headings, which passages are put together with, and fences."""
    marker = _Marker(passage)
    for start, end, block in _paragraphs(text):
        marker.add(block, start, end)
    return marker.nodes


def _paragraphs(text: str) -> Iterator[tuple[int, int, Node]]:
    at, kept, fence = 0, list[str](), ""
    begin = 0

    def block() -> Node:
        return element("p", {"class": "lines"}, "\n".join(kept).strip("\n"))

    for line in text.split("\n"):
        plain = line.strip()
        if fence:
            if plain.startswith(fence):
                yield begin, at + len(line), element("pre", {"class": "code"}, "\n".join(kept))
                kept, fence = [], ""
            else:
                kept.append(line)
        elif plain.startswith(_FENCES):
            if kept:
                yield begin, at, block()
            begin, kept, fence = at, [], plain[:3]
        elif heading := re.match(r"(#{1,6}) +(\S.*)", line):
            if kept:
                yield begin, at, block()
            kept = []
            yield at, at + len(line), element(f"h{len(heading[1])}", {"id": slug(heading[2])}, heading[2])
        elif not plain:
            if kept:
                yield begin, at, block()
            kept = []
        else:
            begin = begin if kept else at
            kept.append(line)
        at += len(line) + 1
    if kept:
        yield begin, at, element("pre", {"class": "code"}, "\n".join(kept)) if fence else block()


@dataclass(slots=True)
class _Marker:
    """Top-level blocks, those of the passage inside of one element."""

    passage: Passage | None
    nodes: list[Node] = field(default_factory=list)
    _found: list[Node] | None = None

    def add(self, block: Node, start: int, end: int) -> None:
        if self.passage is None or end <= self.passage.start or start >= self.passage.end:
            self.nodes.append(block)
            return
        if self._found is None:
            self._found = element("div", {"class": "passage"})
            self.nodes.append(self._found)
        self._found.append(block)


# ---------------------------------------------------------------- Markdown


@dataclass(slots=True)
class _Builder:
    """Builds the tree from parser events: a stack of open elements, the first of which is the root."""

    find: FindDocument | None
    base: str
    _open: list[list[Node]] = field(default_factory=lambda: [element("div")])
    _names: list[str] = field(default_factory=list)  # of the parser's containers; empty: one that made no element
    _anchors: dict[str, int] = field(default_factory=dict)
    _aligned: tuple[str, ...] = ()
    _cell: int = 0
    _head: bool = False
    _html: list[str] = field(default_factory=list)
    _raw_block: list[str] | None = None

    def build(self, text: str, passage: Passage | None) -> list[Node]:
        text = _without_comments(text)
        source = text.encode("utf8", "replace")
        found = _in_bytes(text, passage)
        marker = _Marker(found)
        start = read = 0
        for number, (event, span) in enumerate(markdown().events_with_range(text)):
            if number >= MAX_EVENTS:
                break
            start = start if self._names else span["start"]
            self._event(event)
            if not self._names:
                self._close_html(0)
                root = self._open[0]
                for block in root[2:]:
                    marker.add(block, start, span["end"])
                del root[2:]
                read = span["end"]
        if self._names:  # there was too much of it
            rest = source[read:].decode("utf8", "replace")
            marker.add(element("p", {"class": "lines"}, rest), read, len(source))
        return marker.nodes

    def _event(self, event: Any) -> None:
        if type(event) is str:
            if event in ("SoftBreak", "HardBreak"):
                self._put("\n" if event == "SoftBreak" else element("br"))
            elif event == "Rule":
                self._put(element("hr"))
            return
        (name, value), *_ = event.items()
        if name == "Start":
            self._start(value)
        elif name == "End":
            self._end()
        elif name == "Html" and self._raw_block is not None:
            self._raw_block.append(value)
        elif name in ("Html", "InlineHtml"):
            self._raw(value)
        elif name == "Text":
            self._put(value)
        elif name == "Code":
            self._put(element("code", None, value))
        elif name == "TaskListMarker":
            label = "done" if value else "to do"
            self._put(element("span", {"class": f"task {'done' if value else 'open'}", "label": label}))
        elif name == "FootnoteReference":
            self._put(element("sup", None, self._link({"anchor": f"fn-{slug(value)}"}, f"[{value}]")))
        elif type(value) is str:  # mathematics, and what a later parser adds
            self._put(value)

    def _start(self, tag: Any) -> None:
        value: Any = None
        name, value = (tag, None) if type(tag) is str else next(iter(tag.items()))
        made: list[Node] | None = None
        if name == "Heading":
            made = element(f"h{value['level'][1]}")
        elif name == "CodeBlock":
            made = element("pre", {"class": "code"})
        elif name == "BlockQuote":
            made = element("blockquote", {"alert": value} if value else None)
        elif name == "List":
            made = element("ul") if value is None else element("ol", {"start": value} if value != 1 else None)
        elif name == "FootnoteDefinition":
            made = element("div", {"class": "footnote", "id": f"fn-{slug(value)}"}, element("sup", None, value))
        elif name == "Table":
            self._aligned, made = value, element("table")
        elif name in ("Link", "Image"):
            made = element(f"@{name}", value)
        elif name in _BLOCKS:
            made = element(_BLOCKS[name])
        if name in ("TableHead", "TableRow"):
            self._cell, self._head = 0, name == "TableHead"
        if name == "TableCell" and made:
            made[0] = "th" if self._head else "td"
            side = self._aligned[self._cell] if self._cell < len(self._aligned) else "None"
            made[1] = {"class": f"to-{side.casefold()}"} if side in ("Center", "Right") else {}
            self._cell += 1
        if name == "HtmlBlock":
            self._raw_block = []
        deep = len(self._open) >= MAX_DEPTH
        self._names.append("" if made is None or deep else name)
        if self._names[-1] and made is not None:
            self._open.append(made)

    def _end(self) -> None:
        if self._raw_block is not None:
            block, self._raw_block = "".join(self._raw_block), None
            self._raw(block)
        name = self._names.pop()
        if not name:
            return
        depth = 1 + sum(1 for one in self._names if one)
        self._close_html(depth)
        made = self._open.pop()
        if name in ("Link", "Image"):
            made = self._linked(name, made)
        elif name == "Heading":
            self._anchored(made)
        elif name == "BlockQuote":
            made = _callout(made)
        elif name == "Table":
            made = element("table", None, element("thead", None, *made[2:3]), element("tbody", None, *made[3:]))
        elif name in ("Paragraph", "Item"):
            _with_block_id(made)
        if name != "CodeBlock":
            made = _with_highlights(made)
        if len(made) > 2 or name in ("TableCell", "Item"):
            self._put(made)

    def _put(self, node: Node) -> None:
        parent = self._open[-1]
        if type(node) is str and len(parent) > 2 and type(parent[-1]) is str:
            parent[-1] += node
        else:
            parent.append(node)

    # ------------------------------------------------------------ headings and links

    def _anchored(self, heading: list[Node]) -> None:
        if type(heading[-1]) is str:
            before, _, after = heading[-1].rpartition("{")
            if own := _OWN_ANCHOR.fullmatch(after.rstrip()):
                heading[-1], heading[1] = before.rstrip(), {"id": own[1]}
                return
        name = slug(_text_of(heading))
        seen = self._anchors.get(name, 0)
        self._anchors[name] = seen + 1
        heading[1] = {"id": f"{name}-{seen}" if seen else name}

    def _linked(self, sort: str, made: list[Node]) -> list[Node]:
        about, nodes = made[1], made[2:]
        is_wiki = type(about["link_type"]) is dict
        target = about["dest_url"].removesuffix("\\") if is_wiki else about["dest_url"]
        if sort == "Image":
            name = _text_of(made).strip() or target.rpartition("/")[2] or "picture"
            nodes = [element("span", {"class": "picture"}, name)]
        return self._link(self._place(target, "wiki" if is_wiki else "markdown"), *nodes)

    def _link(self, place: dict[str, str], *nodes: Node) -> list[Node]:
        if self.find is None or not place:
            return element("span", {"class": "link-text"} if self.find is None else {"class": "dead"}, *nodes)
        return element("a", place, *nodes)

    def _place(self, target: str, type: str) -> dict[str, str]:
        """Where a link leads: to an address, or to a document and an anchor; empty: nowhere."""
        target = target.strip()
        if _SCHEME.match(target):
            return {"href": target} if _OPENED.fullmatch(target) else {}
        name, _, anchor = target.partition("#")
        if type == "markdown":
            name, anchor = unquote(name), unquote(anchor)
        anchor = anchor.rpartition("#")[2] if type == "wiki" else anchor
        anchor = anchor if anchor.startswith("^") else slug(anchor)
        name = name.strip()
        if not name:
            return {"anchor": anchor} if anchor else {}
        found = self.find(name, type) if self.find else None
        if found is not None:
            return {"document": found, **({"anchor": anchor} if anchor else {})}
        whole = urljoin(self.base, target) if self.base else ""
        return {"href": whole} if _OPENED.fullmatch(whole) else {}

    # ------------------------------------------------------------ HTML inside of Markdown

    def _raw(self, text: str) -> None:
        at = 0
        for tag in _TAG.finditer(text := _without_html_comments(text)):
            self._put_text(text[at : tag.start()])
            at = tag.end()
            if tag[2]:
                self._tag(tag[2].casefold(), bool(tag[1]), tag[3], tag[0])
        self._put_text(text[at:])

    def _put_text(self, text: str) -> None:
        if text:
            self._put(text)

    def _tag(self, name: str, ends: bool, attributes: str, written: str) -> None:
        if name in _HTML_EMPTY:
            self._put(element(name))
        elif name == "img":
            about = _attributes(attributes)
            shown = element("span", {"class": "picture"}, about.get("alt") or "picture")
            self._put(self._link(self._place(about.get("src", ""), "markdown"), shown))
        elif name in _HTML_THROUGH:
            return
        elif name not in _HTML and name not in _HTML_BLOCKS and name != "a":
            self._put(written)
        elif ends:
            if name in self._html:
                while self._close_one() != name:
                    pass
        elif len(self._open) < MAX_DEPTH:
            about = _attributes(attributes) if name == "a" else {}
            self._html.append(name)
            self._open.append(self._link(self._place(about.get("href", ""), "markdown")) if about else element(name))

    def _close_one(self) -> str:
        name, made = self._html.pop(), self._open.pop()
        if len(made) > 2:
            self._put(made)
        return name

    def _close_html(self, depth: int) -> None:
        """Close the HTML that was left open in the container that ends: `depth` of those are open."""
        while self._html and len(self._open) > depth + 1:
            self._close_one()


def _attributes(written: str) -> dict[str, str]:
    found = {key.casefold(): unescape(value.strip("\"'")) for key, value in _ATTRIBUTE.findall(written)}
    return {key: value for key, value in found.items() if key in ("href", "src", "alt")}


def _without_html_comments(text: str) -> str:
    parts, at = [], 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        parts.append(text[at:begin])
        at = end + 3
    return "".join((*parts, text[at:]))


def _without_comments(text: str) -> str:
    """Text with the lines of comments between `%%` blanked; their length stays."""
    if "%%" not in text:
        return text
    lines = text.split("\n")
    begin, fence = -1, ""
    for number, line in enumerate(lines):
        plain = line.strip()
        if plain.startswith(_FENCES) and begin < 0:
            fence = "" if fence else plain[:3]
        elif begin < 0 and not fence and plain.startswith("%%") and plain.count("%%") == 1:
            begin = number
        elif begin >= 0 and plain.endswith("%%"):
            lines[begin : number + 1] = [" " * len(one.encode("utf8", "replace")) for one in lines[begin : number + 1]]
            begin = -1
    return "\n".join(lines)


def _in_bytes(text: str, passage: Passage | None) -> Passage | None:
    if passage is None or text.isascii():
        return passage
    start = len(text[: passage.start].encode("utf8", "replace"))
    return Passage(start, start + len(text[passage.start : passage.end].encode("utf8", "replace")))


def _text_of(node: Node) -> str:
    return node if type(node) is str else "".join(map(_text_of, node[2:]))


def _with_block_id(block: list[Node]) -> None:
    """`^name` at the end of a block is its anchor."""
    if type(block[-1]) is str and (found := _BLOCK_ID.search(block[-1])):
        block[-1] = block[-1][: found.start()]
        block[1] = {**block[1], "id": f"^{found[1]}"}


def _with_highlights(block: list[Node]) -> list[Node]:
    """`==text==` as a mark, and without comments between `%%`."""
    nodes: list[Node] = []
    for node in block[2:]:
        if type(node) is not str or ("==" not in node and "%%" not in node):
            nodes.append(node)
            continue
        parts = _HIGHLIGHT.split(_COMMENT.sub("", node))
        nodes += [element("mark", None, part) if number % 2 else part for number, part in enumerate(parts) if part]
    return [*block[:2], *nodes]


def _callout(quote: list[Node]) -> list[Node]:
    """A quotation that begins with `[!kind] title` is a callout; `[!kind]-` is folded."""
    if alert := quote[1].pop("alert", ""):  # GitHub's kinds, which the parser knows
        kind = _CALLOUT_NAMES.get(alert.casefold(), alert.casefold())
        return element("div", {"class": f"callout {kind}"}, element("p", {"class": "callout-title"}, alert), *quote[2:])
    first = quote[2] if len(quote) > 2 else ""
    if type(first) is not list or first[0] != "p" or len(first) < 3 or type(first[2]) is not str:
        return quote
    match = _CALLOUT.match(first[2])
    if match is None:
        return quote
    written = match[1].casefold()
    kind = _CALLOUT_NAMES.get(written, written if written in _CALLOUTS else "note")
    whole = first[2][match.end() :]
    title: list[Node] = [match[3]] if match[3] else [match[1].capitalize()]
    inside = [whole, *first[3:]] if whole else first[3:]
    if not match[0].endswith("\n") and match[3]:  # the title goes on with marks up to the end of its line
        title, inside = _until_line_end([match[3], *first[3:]])
    body: Sequence[Node] = [element("p", None, *inside), *quote[3:]] if inside else quote[3:]
    if match[2]:
        return element("details", {"class": f"callout {kind}"}, element("summary", None, *title), *body)
    return element("div", {"class": f"callout {kind}"}, element("p", {"class": "callout-title"}, *title), *body)


def _until_line_end(nodes: list[Node]) -> tuple[list[Node], list[Node]]:
    for number, node in enumerate(nodes):
        if type(node) is str and "\n" in node:
            before, _, after = node.partition("\n")
            head = [*nodes[:number], *([before] if before else [])]
            return head, [*([after] if after else []), *nodes[number + 1 :]]
    return nodes, []
