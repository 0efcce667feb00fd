"""HTML pages: the main element's sections with their anchors, links, and what the head says of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.limits import MAX_LINKS
from watersmeet.core.model import DocId
from watersmeet.core.options import option
from watersmeet.parse._blocks import paragraphs
from watersmeet.parse._decode import Decoded, decode
from watersmeet.parse._inline import limited
from watersmeet.parse._page import Item, Page, sections
from watersmeet.parse._values import clean, created, modified, plain

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_CHARSET = re.compile(rb"(?i)charset\s{0,20}=\s{0,20}[\"']?([a-z0-9_:.-]{2,40})")
_XML_ENCODING = re.compile(rb"(?i)^<\?xml [^>]{0,100}encoding=[\"']([a-z0-9_.-]{2,40})")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})|<[!?]")
_MARKUP = re.compile(r"<[^<>]*>")
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{20000}")
_HEAD_BYTES = 4096
_MANY_TAGS = 20_000
_MAX_TAGS = 800_000
_MAX_NESTING = 2_000
_MAX_ATTRIBUTES = 5_000
"""Parsing costs the square of the nesting and of the attributes of one element, and memory for each element. A page
beyond is read as plain text."""
_UNCLOSED = frozenset(
    "area base br col dd dt embed hr img input li link meta option p param source tbody td tfoot th thead tr track "
    "wbr".split()
)

_GENERATORS = (
    "sphinx docutils mkdocs docusaurus javadoc doxygen rustdoc docbook asciidoctor mdbook vitepress antora starlight "
    "pdoc gitbook man2html".split()
)
_MAIN = (
    "[role=main]",
    "[itemprop=articleBody]",
    ".theme-doc-markdown",
    "article.md-content__inner",
    "main",
    "div.documentwrapper div.body",
    "#yui-main",
    "#doc-content",
    "div.contentContainer",
)
"""Main elements in order of certainty: declared ones, Sphinx, Docusaurus, MkDocs, Django docs, doxygen, javadoc."""
_DOCUMENTATION = (
    ".theme-doc-markdown, article.md-content__inner, div.documentwrapper, #yui-main, #doc-content, "
    "div.contentContainer, a.headerlink, a.hash-link, a.header-anchor, .rst-content, .bd-article, .vp-doc, "
    ".sl-markdown-content, .doc-anchor"
)
"""Elements of documentation generators that do not name themselves."""
_LEAST_CHARS = 25
_LEAST_ARTICLE_CHARS = 200
_LEAST_NOSCRIPT_WORDS = 50
"""A shorter `noscript` only asks to switch scripts on."""
_AROUND = (
    "header, footer, aside:not(.topic):not(.admonition), #footer, .footer, #sidebar, .sidebar, #nav, .nav, .navbar, "
    "#menu, .menu, #hd, #ft, #breadcrumbs, #comments"
)
"""What is around the text of a page that does not say which element is the main one."""
_SEPARATORS = (" — ", " – ", " | ", " · ", " :: ", " » ", " - ")
_ARTICLES = frozenset(
    "Article NewsArticle BlogPosting ReportageNewsArticle AnalysisNewsArticle OpinionNewsArticle".split()
)
_MAX_JSON = 1_000_000
_MAX_ARTICLE = 2_000_000
"""Characters of a page that trafilatura reads: it is ten times slower than the main element."""
_LEAST_SHARE = 0.05
"""Share of the main element's words below which an extracted article is taken for a failure."""


@dataclass(frozen=True, slots=True)
class Html(ParserOptions):
    """One document a page. Articles are read by trafilatura, if it is installed; other pages by their main element."""

    reads: ClassVar[tuple[str, ...]] = ("text/html", "application/xhtml+xml", ".html", ".htm", ".xhtml")
    isolated: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("selectolax",)
    extra: ClassVar[str] = "web"

    articles: bool = option(True, "read pages that declare themselves articles with trafilatura, if it is installed")
    addresses: bool = option(True, "write the addresses of links to other sites behind their text")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = _decoded(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        if _too_deep(text):
            yield _flat(found, text, warnings)
            return
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(text)
        meta, linked_data = _meta(tree), list(_linked_data(tree))
        article = self.articles and len(text) <= _MAX_ARTICLE and _is_article(tree, meta, linked_data)
        fields = _fields(tree, meta, linked_data)
        title = _head_title(tree, meta)
        page = _main_page(tree, text, self.addresses)
        if article and page.items:
            page = _article(text, page, self.addresses)
        parts = sections(page.items)
        if not parts:
            yield Skipped(found.uri, _no_text(text))
            return
        links, too_many = limited(page.links, MAX_LINKS, "links")
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=_title(page.items) or title or PurePosixPath(found.name).stem,
            path=found.uri,
            sections=parts,
            modified=modified(fields),
            created=created(fields),
            fields=fields,
            links=links,
            warnings=(*warnings, *page.warnings, *too_many),
        )


# ---------------------------------------------------------------- text


def _decoded(content: bytes) -> Decoded:
    """Text by the byte order mark, else by the declared encoding, else by its bytes."""
    if 0 < content.count(b"\0") < len(content) / 100:  # left by a program that wrote fields of a fixed size
        content = content.replace(b"\0", b"")
    head = content[:_HEAD_BYTES]
    match = _XML_ENCODING.match(head) or _CHARSET.search(head)
    if match and b"\0" not in head and not head.startswith(b"\xef\xbb\xbf"):
        name = match[1].decode("ascii").casefold()
        if name not in ("utf-8", "utf8") and not name.startswith("utf-16"):
            try:
                text = content.decode("cp1252" if name in ("iso-8859-1", "latin1", "us-ascii") else name, "replace")
            except (LookupError, ValueError):  # unknown, or a codec that gives no text
                return decode(content)
            return Decoded(clean(text.replace("\r\n", "\n").replace("\r", "\n")))
    return decode(content)


def _too_deep(text: str) -> bool:
    """Whether the parser would take too long: its cost is quadratic in the nesting."""
    tags = text.count("<")
    if tags > _MAX_TAGS:
        return True
    if tags > _MANY_TAGS:
        depth = 0
        for match in _TAG.finditer(text):
            name = match[2]
            if name and name.casefold() not in _UNCLOSED:
                depth = max(depth - 1, 0) if match[1] else depth + 1
                if depth > _MAX_NESTING:
                    return True
    for match in _LONG_TAG.finditer(text):
        if text.count("=", match.start(), text.find(">", match.start())) > _MAX_ATTRIBUTES:
            return True
    return False


def _flat(found: Found, text: str, warnings: tuple[str, ...]) -> Document:
    """A document of plain text, for a page that is not parsed."""
    words = _MARKUP.sub(" ", text)
    blocks = tuple(Block(" ".join(block.text.split())) for block in paragraphs(words))
    return Document(
        id=DocId(found.name),
        kind="document",
        title=PurePosixPath(found.name).stem,
        path=found.uri,
        sections=(Section((), 0, blocks=blocks),) if blocks else (),
        warnings=(
            *warnings,
            "its elements are too many, nested too deeply or have too many attributes: read as plain text",
        ),
    )


def _no_text(text: str) -> str:
    """Why a page has no text."""
    folded = text.casefold()
    if "<frameset" in folded:
        return "a frameset: its text is in other pages"
    if 'http-equiv="refresh"' in folded or "http-equiv=refresh" in folded:
        return "holds no text; it only forwards to another page"
    if "<script" in folded:
        return "holds no text; its content is made by scripts"
    return "holds no text"


# ---------------------------------------------------------------- main element


def _main_page(tree: LexborHTMLParser, text: str, addresses: bool) -> Page:
    main = _main(tree)
    page = Page(addresses)
    if main is None:
        return page
    if main.tag == "body":
        half = len(main.text()) / 2
        for node in main.css(_AROUND):
            if len(node.text()) < half:  # a header that was never closed holds the text
                node.decompose()
    page.read(main)
    if not page.items and "<noscript" in text:
        whole = Page(addresses, noscript=True)
        whole.read(main)
        if _words(whole.items) >= _LEAST_NOSCRIPT_WORDS:
            return whole
    return page


def _main(tree: LexborHTMLParser) -> LexborNode | None:
    for selector in _MAIN:
        nodes = tree.css(selector)
        node = max(nodes, key=lambda one: len(one.text())) if len(nodes) > 1 else nodes[0] if nodes else None
        if node is not None and len(node.text().strip()) >= _LEAST_CHARS:
            return node
    articles = tree.css("article")
    if len(articles) == 1 and len(articles[0].text().strip()) >= _LEAST_ARTICLE_CHARS:
        return articles[0]
    return tree.body


# ---------------------------------------------------------------- articles


def _is_article(tree: LexborHTMLParser, meta: dict[str, str], linked_data: list[dict[str, Any]]) -> bool:
    """Whether a page declares itself an article, and is no documentation."""
    generator = meta.get("generator", "").casefold()
    if any(name in generator for name in _GENERATORS):
        return False
    if tree.css_first(_DOCUMENTATION) is not None:
        return False
    if meta.get("og:type", "").casefold() == "article":
        return True
    if any(_ARTICLES & set(_types(entry)) for entry in linked_data):
        return True
    return len(tree.css("article")) == 1


def _article(text: str, page: Page, addresses: bool) -> Page:
    """The page as trafilatura extracts it, or as it was if that is much less or trafilatura is not installed."""
    try:
        import trafilatura
    except ImportError:
        return page
    import logging

    from selectolax.lexbor import LexborHTMLParser

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it cannot extract is read by its main element
    extracted = trafilatura.extract(
        text,
        output_format="html",
        include_links=True,
        include_formatting=True,
        include_tables=True,
        include_comments=False,
    )
    body = LexborHTMLParser(extracted).body if extracted else None
    if body is None:
        return page
    article = Page(addresses)
    article.read(body)
    if _words(article.items) < _LEAST_SHARE * _words(page.items):
        return page
    anchors = {item.text: item.anchor for item in page.items if item.level}
    article.items = [item._replace(anchor=anchors.get(item.text, "")) if item.level else item for item in article.items]
    return article


def _words(items: list[Item]) -> int:
    return sum(len(item.text.split()) for item in items)


# ---------------------------------------------------------------- head

_NAMES = {
    "description": ("description", "og:description", "dc.description"),
    "author": ("author", "article:author", "dc.creator"),
    "keywords": ("keywords", "article:tag", "news_keywords"),
    "created": ("article:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "dcterms.created"),
    "modified": ("article:modified_time", "datemodified", "last-modified", "og:updated_time", "dcterms.modified"),
    "site": ("og:site_name",),
}
_MAX_FIELD_LENGTH = 2_000


def _meta(tree: LexborHTMLParser) -> dict[str, str]:
    """Contents of the meta elements by name, the first of each."""
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        value = " ".join((attributes.get("content") or "")[:_MAX_FIELD_LENGTH].split())
        if name and value:
            found.setdefault(name.casefold(), value)
    return found


def _fields(tree: LexborHTMLParser, meta: dict[str, str], linked_data: list[dict[str, Any]]) -> dict[str, Any]:
    """What the head says of a page: description, author, keywords, dates, language."""
    fields: dict[str, Any] = {}
    for field, names in _NAMES.items():
        value = next((meta[name] for name in names if name in meta), "")
        if value:
            fields[field] = value
    if "keywords" in fields:
        fields["keywords"] = [word.strip() for word in fields["keywords"].split(",") if word.strip()][:100]
    for entry in linked_data:
        for field, name in (("created", "datePublished"), ("modified", "dateModified")):
            if isinstance(entry.get(name), str):
                fields.setdefault(field, entry[name][:_MAX_FIELD_LENGTH])
    root = tree.css_first("html")
    language = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "") if root is not None else ""
    if language:
        fields["lang"] = language[:50]
    found: dict[str, Any] = plain(fields)
    return found


def _title(items: list[Item]) -> str:
    """The first heading of level 1."""
    return clean(next((item.text for item in items if item.level == 1), ""))


def _head_title(tree: LexborHTMLParser, meta: dict[str, str]) -> str:
    """Title in the head, without the site's name."""
    title = tree.css_first("title")
    shown = " ".join(title.text().split())[:_MAX_FIELD_LENGTH] if title is not None else ""
    return clean(meta.get("og:title", "") or _without_site(shown, meta.get("og:site_name", "")))


def _without_site(title: str, site: str) -> str:
    for separator in _SEPARATORS:
        first, _, rest = title.partition(separator)
        before, _, last = title.rpartition(separator)
        if site and rest and first == site:
            return rest
        if before and (last == site or len(last) <= len(before)):
            return before
    return title


def _linked_data(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    """Entries of the page's JSON-LD."""
    import json

    for node in tree.css('script[type="application/ld+json"]'):
        source = node.text()
        if len(source) > _MAX_JSON:
            continue
        try:
            value = json.loads(source)
        except (ValueError, RecursionError):
            continue
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if isinstance(entry, dict):
                yield entry
                graph = entry.get("@graph")
                yield from (one for one in graph if isinstance(one, dict)) if isinstance(graph, list) else ()


def _types(entry: dict[str, Any]) -> list[str]:
    types = entry.get("@type")
    return [one for one in types if isinstance(one, str)] if isinstance(types, list) else [str(types)]
