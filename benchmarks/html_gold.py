"""Gold text for HTML pages, made from the sources of the pages and not from the pages: `html_gold.py DEBS SOURCES OUT`.

DEBS holds the unpacked Debian packages (`dpkg -x`) python3.11-doc, python-django-doc and postgresql-doc-15. SOURCES
holds the unpacked source packages of python-django and postgresql-15; python3.11-doc has its own sources in `_sources`.
OUT gets folders `html-python`, `html-django` and `html-postgresql` with `NAME.html` and `NAME.html.gold.md`, as
benchmarks/formats.py reads them; pages that are only an index or a search form are left out.

- Python and Django: Sphinx's text builder writes the reStructuredText sources as text (`pip install "sphinx<8"`).
- PostgreSQL: the DocBook source of the page, without index terms (`pip install lxml`).

Needs sphinx and lxml, which nothing else here needs: run it in a venv of its own.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONF = """
from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
project, extensions, text_sectionchars = "gold", [], "*=-~^+"
source_suffix = {suffix!r}
exclude_patterns = ["_theme", "_ext", "man", "README.rst"]
SILENT = ("setting", "templatetag", "templatefilter", "fieldlookup", "audit-event-table", "default-role")
PREFIX = {{"issue": "bpo-", "gh": "gh-", "ticket": "#", "cve": "CVE-", "commit": ""}}
WORDS = {{"impl-detail": "CPython implementation detail: ", "availability": "Availability: "}}
class Generic(Directive):
    has_content, optional_arguments, final_argument_whitespace, option_spec = True, 1, True, None
    def run(self):
        if self.name in SILENT:
            return []
        if self.name in ("console", "snippet"):
            return [nodes.literal_block("", "\\n".join(self.content))]
        text = WORDS.get(self.name, "") + " ".join(self.arguments)
        first, _ = self.state.inline_text(text, self.lineno)
        found = [nodes.paragraph("", "", *first)] if text else []
        holder = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, holder)
        return found + [holder]
def generic(name, rawtext, text, lineno, inliner, options=None, content=()):
    shown = text.partition("<")[0].strip() or text if text.endswith(">") else text
    return [nodes.inline("", PREFIX.get(name, "") + shown.lstrip("~!"))], []
directive, role = directives.directive, roles.role
def any_directive(name, *rest):
    found, messages = directive(name, *rest)
    return (found, messages) if found else (Generic, [])
def any_role(name, *rest):
    found, messages = role(name, *rest)
    return (found, messages) if found else (generic, [])
def setup(app):
    directives.directive, roles.role = any_directive, any_role
"""
UNDERLINES = "*=-~^+"
PYTHON, DJANGO = "usr/share/doc/python3.11/html", "usr/share/doc/python-django-doc/html"
POSTGRESQL = "usr/share/doc/postgresql-doc-15/html"


def markdown(text: str) -> str:
    """Text of Sphinx's text builder with its underlined headings as Markdown headings."""
    lines = text.split("\n")
    found: list[str] = []
    for line, under in zip(lines, [*lines[1:], ""], strict=True):
        if line.strip() and under and under[0] in UNDERLINES and under == under[0] * len(under) and len(under) > 1:
            heading = line.replace('"', "").replace("*", "")  # marks of code and emphasis
            found.append(f"{'#' * (1 + UNDERLINES.index(under[0]))} {heading}")
        elif not (line and line[0] in UNDERLINES and line == line[0] * len(line) and len(line) > 1):
            found.append(line)
    return "\n".join(found)


def sphinx(sources: Path, suffix: str, pages: Path, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copytree(sources, here / "in", symlinks=False)
        (here / "in" / "conf.py").write_text(CONF.format(suffix=suffix))
        for path in (here / "in").rglob("*.rst.txt"):
            path.rename(path.with_name(path.name.removesuffix(".txt")))
        command = [sys.executable, "-m", "sphinx", "-q", "-Q", "-b", "text", str(here / "in"), str(here / "out")]
        subprocess.run(command, check=True)
        for page in sorted(pages.rglob("*.html")):
            name = page.relative_to(pages)
            text = here / "out" / name.with_suffix(".txt")
            if text.is_file() and name.name != "contents.html":
                save(out, str(name).replace("/", "+"), page, markdown(text.read_text()))


def save(out: Path, name: str, page: Path, gold: str) -> None:
    if len(gold.split()) >= 20:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, out / name)
        (out / f"{name}.gold.md").write_text(gold)


# ---------------------------------------------------------------- DocBook

CHUNKS = frozenset("book part chapter appendix preface reference sect1 refentry bibliography glossary".split())
LEFT_OUT = frozenset("indexterm refmeta primary secondary".split())
BLOCKS = frozenset(
    "para simpara term listitem entry row title member programlisting screen synopsis literallayout refname refpurpose "
    "refnamediv refsynopsisdiv refsect1 refsect2 sect2 sect3 sect4 sect5 varlistentry caution note tip warning".split()
)
SECTIONS = frozenset(
    "chapter appendix preface sect1 sect2 sect3 sect4 sect5 refsect1 refsect2 refsect3 simplesect bibliography".split()
)
CODE = frozenset("programlisting screen synopsis literallayout".split())
GENERATED = ("sql-keywords-appendix", "errcodes-appendix", "features-sql-standard", "unsupported-features-sql-standard")
"""Pages with a table that is made when the docs are built, and is in no source."""
LABEL = re.compile(r"<title>((?:Chapter |Chapter\xa0|Appendix |Appendix\xa0)?[A-Z0-9]{1,3}(?:\.[0-9]+)*\.)[ \xa0]")
NAMES = {"note": "Note", "tip": "Tip", "warning": "Warning", "caution": "Caution", "important": "Important"}


def docbook(sources: Path) -> Iterator[tuple[str, Any]]:
    """Pages of the DocBook sources: the name of the page in lower case, and its element."""
    from lxml import etree

    parser = etree.XMLParser(recover=True, resolve_entities=False)
    entities = {
        "version": "15",
        "majorversion": "15",
        "mdash": "—",
        "zwsp": "",
        "nbsp": " ",
        "lt": "<",
        "gt": ">",
        "amp": "&",
    }
    for path in sorted(sources.rglob("*.sgml")):
        text = path.read_text("utf8", "replace")
        text = re.sub(
            r"&([a-z]+);", lambda one: one[0] if one[1] in ("lt", "gt", "amp") else entities.get(one[1], " "), text
        )
        root = etree.fromstring(f"<all>{re.sub(r'<!DOCTYPE[^>]*>', '', text)}</all>".encode(), parser)
        for element in root.iter(*CHUNKS) if root is not None else ():
            name = element.get("id")
            if name:
                yield name.casefold(), element


def written(element: Any, level: int, label: str) -> Iterator[str]:
    """Text of an element without that of chunks in it, which are pages of their own. `label` is its number."""
    yield element.text or ""
    number = 0
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag in NAMES:
            yield f"\n\n{NAMES[tag]}\n\n"
        if tag == "title" and element.tag in SECTIONS:
            title = " ".join("".join(written(child, level, "")).split())
            yield f"\n\n{'#' * min(level, 6)} {label} {title}\n\n"
        elif tag == "refnamediv":
            names = [" ".join("".join(one.itertext()).split()) for one in child.iter("refname")]
            purpose = " ".join(" ".join("".join(one.itertext()) for one in child.iter("refpurpose")).split())
            yield f"\n\n# {names[0] if names else ''}\n\n{', '.join(names)} — {purpose}\n\n"
        elif tag == "refsynopsisdiv":
            yield "\n\n## Synopsis\n\n" + "".join(written(child, level + 1, ""))
        elif tag and tag not in CHUNKS and tag not in LEFT_OUT:
            number += tag in SECTIONS
            inner = f"{label}{number}." if label and tag.startswith("sect") else ""
            text = "".join(written(child, level + (tag in SECTIONS), inner))
            text = f"```\n{text}\n```" if tag in CODE else text
            yield f"\n\n{text}\n\n" if tag in BLOCKS else f'"{text}"' if tag == "quote" else text
        yield child.tail or ""


def postgresql(sources: Path, pages: Path, out: Path) -> None:
    elements = dict(docbook(sources))
    for page in sorted(pages.glob("*.html")):
        text = page.read_text("utf8", "replace")
        element = elements.get(page.stem.casefold())
        # a generated table of contents is in no source
        if element is None or 'class="toc"' in text or page.stem in GENERATED:
            continue
        label = LABEL.search(text)  # numbers are in no source: the first comes from the page, the others are counted
        save(out, page.name, page, "".join(written(element, 1, label[1] if label else "")))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    for name in ("debs", "sources", "out"):
        arguments.add_argument(name, type=Path)
    given = arguments.parse_args()
    sources = next(given.sources.glob("postgresql-*")) / "doc/src/sgml"
    postgresql(sources, given.debs / POSTGRESQL, given.out / "html-postgresql")
    sources = next(given.sources.glob("[Dd]jango*")) / "docs"
    sphinx(sources, ".txt", given.debs / DJANGO, given.out / "html-django")
    sphinx(given.debs / PYTHON / "_sources", ".rst", given.debs / PYTHON, given.out / "html-python")
    print(f"{len(list(given.out.glob('html-*/*.gold.md')))} pages with gold text in {given.out}")


if __name__ == "__main__":
    main()
