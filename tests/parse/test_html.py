"""HTML pages as documentation generators, content systems and people write them."""

# ruff: noqa: E501 - pages are written as generators write them, in long lines

from __future__ import annotations

import sys
from typing import ClassVar

import pytest

from watersmeet.core.documents import Document, Link
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse.html import Html
from watersmeet.testing.contracts.parser import ParserContract

pytest.importorskip("selectolax")

FOUND = Found("guide/page.html", "/root/guide/page.html", "0")


def read(page: str | bytes, parser: Html | None = None) -> Document:
    (document,) = (parser or Html()).parse(FOUND, page.encode() if isinstance(page, str) else page)
    assert isinstance(document, Document), document
    return document


def body(inside: str) -> Document:
    return read(f"<html><body><main>{inside}<p>Text that makes this page long enough.</p></main></body></html>")


def texts(document: Document) -> list[str]:
    return [block.text for section in document.sections for block in section.blocks]


def outline(document: Document) -> list[tuple[str, str]]:
    """Last heading and anchor of each section."""
    return [(s.headings[-1] if s.headings else "", s.place.anchor) for s in document.sections]


SPHINX = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>os.path — Paths — Python docs</title></head>
<body><div class="related" role="navigation"><h3>Navigation</h3><ul><li><a href="genindex.html">index</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="module-os.path"><span id="os-path-paths"></span>
<h1><a href="#module-os.path"><code class="xref"><span class="pre">os.path</span></code></a> — Paths<a class="headerlink"
 href="#module-os.path" title="Permalink">¶</a></h1>
<p><strong>Source code:</strong> <a class="reference external" href="https://example.org/posixpath.py">Lib/posixpath.py</a></p>
<dl class="py function"><dt class="sig sig-object py" id="os.path.abspath">
<span class="sig-prename"><span class="pre">os.path.</span></span><span class="sig-name"><span class="pre">abspath</span></span>
<span class="sig-paren">(</span><em class="sig-param"><span class="n"><span class="pre">path</span></span></em><span class="sig-paren">)</span>
<a class="headerlink" href="#os.path.abspath">¶</a></dt>
<dd><p>Return a normalized path. See <a class="reference internal" href="functions.html#open"><code>open()</code></a>.</p>
<div class="versionchanged"><p>Changed in version 3.6.</p></div></dd></dl>
<section id="examples"><h2>Examples<a class="headerlink" href="#examples">¶</a></h2>
<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span><span class="kn">import</span> os
<span class="k">if</span> a &lt; b:
    <span class="n">go</span>()
</pre></div></div>
<div class="admonition note"><p class="admonition-title">Note</p><p>Mind the gap.</p></div></section></section>
</div></div></div><div class="sphinxsidebar"><h4>Table of Contents</h4></div></div>
<div class="footer">&copy; Copyright somebody.</div></body></html>"""


def test_sphinx_keeps_headings_anchors_signatures_code_and_links():
    document = read(SPHINX)
    assert document.title == "os.path — Paths"
    assert outline(document) == [("os.path — Paths", "module-os.path"), ("Examples", "examples")]
    assert document.sections[1].headings == ("os.path — Paths", "Examples")
    first, second = document.sections
    assert [block.text for block in first.blocks] == [
        "**Source code:** [Lib/posixpath.py](https://example.org/posixpath.py)",
        "os.path.abspath (path)\n: Return a normalized path. See `open()`.",
        "Changed in version 3.6.",
    ]
    assert [block.place.anchor for block in first.blocks] == ["", "os.path.abspath", "os.path.abspath"]
    assert [block.text for block in second.blocks] == [
        "```python\nimport os\nif a < b:\n    go()\n```",
        "Note",
        "Mind the gap.",
    ]
    assert document.links == (Link("functions.html", "markdown", "open", "open()"),)
    assert document.fields["lang"] == "en"
    for noise in ("¶", "Navigation", "Copyright", "Table of Contents"):
        assert noise not in str(document.sections)


DJANGO = """<html><head><title>Models | Django documentation</title></head><body><div class="document"><div id="custom-doc">
<div id="hd"><h1><a href="../index.html">Django 3.2 documentation</a></h1><div class="nav">previous | next</div></div>
<div id="bd"><div id="yui-main"><div class="yui-b"><div class="yui-g" id="topics-models">
<div class="section" id="s-models"><span id="models"></span><h1>Models<a class="headerlink" href="#models">¶</a></h1>
<p>A model is the source of information.</p></div></div></div></div></div>
<div class="yui-b" id="sidebar"><h3>Browse</h3></div></div><div id="ft"><div class="nav">previous</div></div></div></body></html>"""
POSTGRESQL = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>13.1. Introduction</title><meta name="generator" content="DocBook
 XSL Stylesheets" /></head><body><div class="navheader"><table><tr><td><a href="mvcc.html">Prev</a></td></tr></table></div>
<div class="sect1" id="MVCC-INTRO"><div class="titlepage"><div><div><h2 class="title">13.1. Introduction</h2></div></div></div>
<p>Concurrency is <span class="quote">“<span class="quote">hard</span>”</span>.</p><div class="note"><h3 class="title">Note</h3>
<p>Locks differ.</p></div><div class="sect2" id="MVCC-SUB"><div class="titlepage"><div><div><h3 class="title">13.1.1. More</h3>
</div></div></div><p>See <a class="xref" href="sql-lock.html" title="LOCK">LOCK</a>.</p></div></div>
<div class="navfooter"><hr /><a href="x.html">Next</a></div></body></html>"""
MKDOCS = """<html><head><meta name="generator" content="mkdocs-1.6, mkdocs-material-9"><title>Install - Tool</title></head><body>
<header class="md-header">Tool</header><nav class="md-nav"><a href=".">Home</a></nav><main class="md-main"><div
 class="md-sidebar">Contents</div><div class="md-content"><article class="md-content__inner md-typeset">
<a href="edit" title="Edit this page" class="md-content__button md-icon"><svg></svg>Edit</a>
<h1 id="install">Install<a class="headerlink" href="#install" title="Permanent link">&para;</a></h1><p>Use the package manager.</p>
<div class="language-sh highlight"><pre><span></span><code>pip install tool
tool --help
</code></pre></div></article></div></main><footer>Made with Material</footer></body></html>"""
DOCUSAURUS = """<html><head><meta name="generator" content="Docusaurus v3.5"><title>Setup | Tool</title></head><body><nav>Docs</nav>
<main><div class="row"><div class="col"><article><nav class="theme-doc-breadcrumbs"><ul><li>Home</li></ul></nav><div
 class="theme-doc-toc-mobile"><button>On this page</button></div><div class="theme-doc-markdown markdown"><header><h1>Setup</h1>
</header><h2 class="anchor" id="first-steps">First steps<a href="#first-steps" class="hash-link" aria-label="Direct link">​</a>
</h2><p>Open the settings page first.</p><div class="language-js codeBlock"><div><pre class="prism-code language-js"><code><span
 class="token-line">let a = 1;<br></span><span class="token-line">run(a);<br></span></code></pre><div><button>Copy</button></div>
</div></div></div><footer class="theme-doc-footer"><a class="theme-edit-this-page" href="https://x.org">Edit this page</a></footer>
</article><nav class="pagination-nav">Next</nav></div><div class="table-of-contents">First steps</div></div></main></body></html>"""
JAVADOC = """<html><head><meta name="generator" content="javadoc/JavadocWriter"><title>List (API)</title></head><body><div
 class="flex-box"><header><nav>Overview Package</nav></header><div class="flex-content"><main role="main"><div class="header"><h1
 title="Interface List" class="title">Interface List&lt;E&gt;</h1></div><section class="class-description" id="class-description">
<div class="block">An ordered collection.</div></section><section class="details"><ul class="details-list"><li><section
 class="method-details" id="method-detail"><h2>Method Details</h2><ul class="member-list"><li><section class="detail" id="size()">
<h3>size</h3><div class="member-signature">int size()</div><div class="block">Returns the number of elements.</div></section></li>
</ul></section></li></ul></section></main><footer role="contentinfo">Legal</footer></div></div></body></html>"""
DOXYGEN = """<html><head><meta name="generator" content="Doxygen 1.9"/><title>Lib: Queue Class</title></head><body><div id="top">
<div id="titlearea">Lib 1.0</div><div id="nav-path" class="navpath"><ul><li>Queue</li></ul></div></div><div id="doc-content"><div
 class="header"><div class="headertitle"><div class="title">Queue Class Reference</div></div></div><div class="contents"><h2
 class="groupheader">Detailed Description</h2><div class="textblock"><p>A bounded queue of jobs.</p></div><a id="a1234"></a><h2
 class="memtitle"><span class="permalink"><a href="#a1234">&#9670;&#160;</a></span>push()</h2><div class="memitem"><p>Adds one.</p>
</div></div></div></body></html>"""
RUSTDOC = """<html><head><meta name="generator" content="rustdoc"><title>Vec in std::vec - Rust</title></head><body><nav
 class="sidebar">Vec</nav><main><section id="main-content" class="content"><div class="main-heading"><h1>Struct <span>Vec</span>
<button id="copy-path">Copy item path</button></h1><span class="out-of-band"><a class="src" href="../src/x.rs.html">source</a></span>
</div><details class="toggle top-doc" open><summary class="hideme"><span>Expand description</span></summary><div class="docblock">
<p>A contiguous growable array type.</p><h2 id="examples"><a class="doc-anchor" href="#examples">§</a>Examples</h2><div
 class="example-wrap"><pre class="rust rust-example-rendered"><code>let v = vec![1];</code></pre></div></div></details><section
 id="method.new" class="method"><a class="src rightside" href="../src/x.rs.html#1">Source</a><h4 class="code-header">pub fn <a
 href="#method.new" class="fn">new</a>() -&gt; Vec&lt;T&gt;</h4></section></section></main></body></html>"""
MAN = """<HTML><HEAD><TITLE>Man page of LS</TITLE></HEAD><BODY><H1>LS</H1>Section: User Commands (1)<BR>Updated: 2024<BR><A
 HREF="#index">Index</A><HR><A NAME="lbAB">&nbsp;</A><H2>NAME</H2>ls - list directory contents<A NAME="lbAC">&nbsp;</A>
<H2>OPTIONS</H2><DL COMPACT><DT><B>-a</B>, <B>--all</B><DD>do not ignore entries<DT><B>-l</B><DD>use a long listing</DL></BODY></HTML>"""


@pytest.mark.parametrize(
    ("page", "title", "headings", "present", "absent"),
    [
        (DJANGO, "Models", [("Models", "models")], ["A model is"], ["previous", "Browse", "documentation"]),
        (
            POSTGRESQL,
            "13.1. Introduction",
            [("13.1. Introduction", "MVCC-INTRO"), ("13.1.1. More", "MVCC-SUB")],
            ["Concurrency is “hard”.", "**Note**", "Locks differ.", "See LOCK."],
            ["Prev", "Next"],
        ),
        (
            MKDOCS,
            "Install",
            [("Install", "install")],
            ["```sh\npip install tool\ntool --help\n```"],
            ["Edit", "Contents", "Material", "¶"],
        ),
        (
            DOCUSAURUS,
            "Setup",
            [("Setup", ""), ("First steps", "first-steps")],
            ["```js\nlet a = 1;\nrun(a);\n```"],
            ["Copy", "Edit this page", "Home", "On this page", "Next"],
        ),
        (
            JAVADOC,
            "Interface List<E>",
            [("Interface List<E>", ""), ("Method Details", "method-detail"), ("size", "size()")],
            ["An ordered collection.", "int size()"],
            ["Legal", "Overview"],
        ),
        (
            DOXYGEN,
            "Queue Class Reference",
            [("Queue Class Reference", "doc-content"), ("Detailed Description", ""), ("push()", "a1234")],
            ["A bounded queue of jobs."],
            ["Lib 1.0"],
        ),
        (
            RUSTDOC,
            "Struct Vec",
            [("Struct Vec", "main-content"), ("Examples", "examples"), ("pub fn new() -> Vec<T>", "method.new")],
            ["A contiguous growable array type."],
            ["Copy item path", "source", "Source", "Expand description", "§"],
        ),
        (
            MAN,
            "LS",
            [("LS", ""), ("NAME", "lbAB"), ("OPTIONS", "lbAC")],
            ["ls - list directory contents", "-a, --all\n: do not ignore entries"],
            [],
        ),
    ],
    ids=["django", "postgresql", "mkdocs", "docusaurus", "javadoc", "doxygen", "rustdoc", "man"],
)
def test_generators(page: str, title: str, headings: list[tuple[str, str]], present: list[str], absent: list[str]):
    document = read(page)
    assert document.title == title
    assert [one for one in outline(document) if one[0]] == headings
    found = "\n".join(texts(document))
    for text in present:
        assert text in found
    for text in absent:
        assert text not in str(document.sections)


def test_tables_are_markdown_tables():
    document = body(
        "<table><caption>Ports</caption><thead><tr><th>Name</th><th>Port</th></tr></thead>"
        "<tbody><tr><td>a|b</td><td><code>80</code></td></tr><tr><td colspan=2>none</td></tr><tr><td>x<br>y</td></tr></table>"
        "<table><tr><th>Key</th><td>value</td></tr><tr><th>Other</th><td><ul><li>p</li><li>q</li></ul></td></tr></table>"
    )
    assert texts(document)[:3] == [
        "Ports",
        "| Name | Port |\n|---|---|\n| a\\|b | `80` |\n| none |  |\n| x y |  |",
        "|  |  |\n|---|---|\n| Key | value |\n| Other | - p - q |",
    ]


def test_a_table_that_arranges_a_page_is_none():
    document = body(
        "<table><tr><td class=linenos><pre>1\n2</pre></td><td><pre class='lang-c'>int a;\nint b;</pre></td></tr></table>"
        "<table><tr><td><h2 id=a>Left</h2>one</td><td><table><tr><td>1</td><td>2</td></tr></table></td></tr></table>"
    )
    assert texts(document)[:3] == ["```c\nint a;\nint b;\n```", "one", "|  |  |\n|---|---|\n| 1 | 2 |"]
    assert ("Left", "a") in outline(document)


def test_lists_nest_and_quotations_are_marked():
    document = body(
        "<ul><li>one<ul><li>two</li></ul></li><li><p>three</p><pre>x\ny</pre></li></ul>"
        "<ol start=4><li>four</li><li>five</li></ol><blockquote><p>said</p><p>so</p></blockquote><ul><li><h3>H</h3>t</li></ul>"
    )
    assert texts(document)[:4] == [
        "- one\n  - two\n- three\n  \n  ```\n  x\n  y\n  ```",
        "4. four\n5. five",
        "> said\n> \n> so",
        "t",
    ]


def test_definition_lists_keep_their_terms():
    document = body(
        "<dl><dt id=cache>cache</dt><dt>store</dt><dd><p>Keeps.</p><pre>a</pre></dd><div><dt><code>-v</code></dt><dd>Talks."
        "</dd></div><dt>alone</dt></dl>"
    )
    blocks = document.sections[0].blocks[:4]
    assert [block.text for block in blocks] == ["cache\nstore\n: Keeps.", "```\na\n```", "-v\n: Talks.", "alone"]
    assert [block.place.anchor for block in blocks] == ["cache", "cache", "", ""]


def test_inline_marks_and_line_breaks():
    document = body(
        "<p>a <b>bold</b>, <em> wide </em>and <code>co`de</code><br>next &amp; <img alt='a picture' src=x> <b></b>"
        "<script>no()</script><span hidden>secret</span><button>Copy</button></p><pre>```\nfence\n```</pre>"
    )
    assert texts(document)[:2] == [
        "a **bold**, *wide* and ``co`de``\nnext & a picture",
        "````\n```\nfence\n```\n````",
    ]


def test_identifiers_are_not_broken():
    document = body("<h2>pg_stat_&#8203;activity</h2><p>Donau&shy;dampf pg_<wbr>class ไทย\u200bคำ</p>")
    assert document.sections[0].headings == ("pg_stat_activity",)
    assert texts(document)[0] == "Donaudampf pg_class ไทย\u200bคำ"


def test_links():
    page = (
        "<a href='../install.html#linux'>Install</a> <a href='#here'>here</a> <a href='b%20c.html?x=1'>B</a> "
        "<a href='https://example.org/a'>site</a> <a href='mailto:a@example.org'>mail</a> <a href='/docs/x/'>x</a> "
        "<a href='https://github.com/a/b/edit/x.md'>Edit on GitHub</a>"
    )
    document = body(f"<p>{page}</p>")
    assert document.links == (
        Link("../install.html", "markdown", "linux", "Install"),
        Link("b c.html", "markdown", "", "B"),
        Link("/docs/x/", "markdown", "", "x"),
    )
    assert texts(document)[0] == "Install here B [site](https://example.org/a) mail x"
    plain = read(f"<main><p>{page} and some more text.</p></main>", Html(addresses=False))
    assert texts(plain) == ["Install here B site mail x and some more text."]


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Install | Acme</title>", "Install"),
        ("<title>Acme - Install it now</title><meta property=og:site_name content=Acme>", "Install it now"),
        ("<title>ls - list directory contents</title>", "ls - list directory contents"),
        ("<title>x</title><meta property=og:title content='The title'>", "The title"),
        ("", "page"),
    ],
)
def test_titles_without_a_heading(head: str, title: str):
    assert read(f"<html><head>{head}</head><body><h2>Part</h2><p>Text</p></body></html>").title == title


def test_the_head_gives_fields_and_dates():
    document = read(
        "<html lang=de><head><meta name=description content='About  tides'><meta name=author content='A. B.'>"
        "<meta name=keywords content='sea, moon ,'><meta property=article:published_time content='2024-03-01T10:00:00Z'>"
        "<meta name=last-modified content=2024-04-02></head><body><p>x</p></body></html>"
    )
    assert document.fields == {
        "description": "About tides",
        "author": "A. B.",
        "keywords": ["sea", "moon"],
        "created": "2024-03-01T10:00:00Z",
        "modified": "2024-04-02",
        "lang": "de",
    }
    assert document.created is not None
    assert document.created.isoformat() == "2024-03-01T10:00:00+00:00"
    assert document.modified is not None


@pytest.mark.parametrize(
    "content",
    [
        "<meta charset=iso-8859-1><p>Möwen am Straßenrand</p>".encode("latin-1"),
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>Möwen am Straßenrand</p>'.encode(
            "cp1252"
        ),
        '<?xml version="1.0" encoding="ISO-8859-15"?><html><body><p>Möwen am Straßenrand</p></body></html>'.encode(
            "latin-1"
        ),
        "<p>Möwen am Straßenrand</p>".encode("utf-8-sig"),
        "<meta charset=utf-8><p>Möwen am Straßenrand</p>".encode("utf-16"),
        "<meta charset=no-such-thing><p>Möwen am Straßenrand</p>".encode(),
        "<meta charset=hex><p>Möwen am Straßenrand</p>".encode(),
        "<meta charset=utf-8><p>Möwen am Straßenrand</p>".encode("latin-1"),
        f"<p>Möwen am Straßenrand\0</p>{' ' * 200}".encode(),
    ],
    ids=["meta", "http-equiv", "xml", "mark", "utf-16", "unknown", "not-a-text-codec", "wrong", "nul"],
)
def test_encodings(content: bytes):
    assert texts(read(content)) == ["Möwen am Straßenrand"]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("", "holds no text"),
        ("<html></html>", "holds no text"),
        ("<body><div id=root></div><script>run()</script></body>", "holds no text; its content is made by scripts"),
        ("<frameset><frame src=a.html></frameset>", "a frameset: its text is in other pages"),
        ("<meta http-equiv=refresh content='0; url=x.html'>", "holds no text; it only forwards to another page"),
    ],
)
def test_a_page_without_text_is_skipped_with_the_reason(page: str, reason: str):
    assert list(Html().parse(FOUND, page.encode())) == [Skipped(FOUND.uri, reason)]


def test_text_in_unusual_elements_is_found():
    words = "<p>" + "some words of the text " * 20 + "</p>"
    assert (
        len(texts(read(f"<body><header>{words}</header><footer>me</footer></body>"))) == 1
    )  # a header not closed in time
    assert len(texts(read(f"<body><noscript>{words}</noscript><script>x()</script></body>"))) == 1
    assert len(texts(read(f"<main>Skip to the content of the page</main><main>{words}{words}</main>"))) == 2
    (skipped,) = Html().parse(
        FOUND, b"<div id=app></div><noscript>Please enable JavaScript.</noscript><script></script>"
    )
    assert skipped == Skipped(FOUND.uri, "holds no text; its content is made by scripts")


def test_limits_of_hostile_pages():
    deep = read("<div>" * 300_000 + "<p>the end")
    assert texts(deep) == ["the end"]
    assert "nested too deeply" in deep.warnings[0]
    nested = read("<div>" * 1_000 + "<p>the end")
    assert texts(nested) == ["the end"]
    assert nested.warnings == ("elements nested more than 150 deep: those inside are plain text",)
    assert texts(read("<ul><li>" * 1_000 + "the end"))[0].endswith("the end")
    assert texts(read(f"<p title='{'x' * 3_000_000}'>short</p>")) == ["short"]
    assert "attributes" in read("<p " + " ".join(f"a{n}=1" for n in range(50_000)) + ">short").warnings[0]
    wide = read("<table><tr>" + "<td colspan=999>a</td>" * 1_000 + "</tr></table>")
    assert sum(map(len, texts(wide))) < 100_000
    assert len(read("<h2>a</h2>" * 21_000).sections) == 20_000
    assert texts(read("<pre>" + "`" * 300_000)) == ["`" * 300_001 + "\n" + "`" * 300_000 + "\n" + "`" * 300_001]


ARTICLE = (
    "<html><head><title>Tides rise | The Gull</title><meta property='og:type' content='article'></head><body><header>The Gull"
    "</header><nav>Home</nav><div class='story'><h1>Tides rise</h1>"
    + "".join(
        f"<p>Paragraph number {n} says that the tide came in early this morning, and that <a href='/moon.html'>the moon</a>"
        f" was seen above the harbour by several people who stood there.</p>"
        for n in range(6)
    )
    + "<h2 id='after'>What comes after</h2><p>In the afternoon the water went back, as it does twice a day in this place.</p>"
    "</div><div class='more'><a href='/1'>Ten boats you must see</a></div></body></html>"
)


def test_an_article_keeps_headings_anchors_and_links():
    pytest.importorskip("trafilatura")
    document = read(ARTICLE)
    assert document.title == "Tides rise"
    assert ("What comes after", "after") in outline(document)
    assert Link("/moon.html", "markdown", "", "the moon") in document.links
    assert "Ten boats" not in str(document.sections)


def test_an_article_is_read_by_its_main_element_if_wanted():
    document = read(ARTICLE, Html(articles=False))
    assert "Ten boats" in str(document.sections)
    assert "Home" not in str(document.sections)


def test_an_article_opens_no_connection():
    pytest.importorskip("trafilatura")
    opened = []
    sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
    read(ARTICLE)
    assert opened == []


class TestHtml(ParserContract):
    samples: ClassVar = {
        "guide.html": SPHINX.encode(),
        "old.htm": MAN.encode("latin-1"),
        "strict.xhtml": POSTGRESQL.encode(),
        "news.html": ARTICLE.encode(),
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Html()
