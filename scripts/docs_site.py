"""The documentation as a site: `python scripts/docs_site.py` writes build/site/html, and fails if a link is broken.

    python scripts/docs_site.py && python -m http.server --bind 127.0.0.1 --directory build/site/html

The pages of docs/ and the four at the top of the repository are copied; their links are made to lead where the pages
are on the site. A file that is no page there, such as source code, becomes its name with its path as a hint. The order
of the pages is that of docs/README.md. The generator (Zensical, extra `docs`) is run in strict mode, and then the HTML
is looked at once more: links and anchors, and that nothing is loaded from another machine.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "zensical.toml"
TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "docs/README.md": "contents.md",
}
"""Pages that are elsewhere on the site than their path below docs/ says."""
DECISIONS = "docs/decisions"
STYLE = """.md-typeset code[title] { text-decoration: underline dotted; text-underline-offset: .2em; }
.md-typeset table:not([class]) { font-size: .7rem; }
.md-typeset table:not([class]) :is(th, td) { padding: .5em .9em; }
.md-typeset table:not([class]) code { word-break: normal; }
"""
_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1`*[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>\[(?:[^\[\]]|\[[^\[\]]*\])*\])\((?P<target>[^)\s]+)\)")
_ATTRIBUTE = re.compile(r'(?P<name>src|srcset|href)="(?P<target>[^"]+)"')
_CODE_WITH_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")
_REMOTE_STYLE = re.compile(r"@import|url\(\s*['\"]?(?:https?:)?//")
_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "video": "src", "audio": "src"}
_LOADING_LINKS = {"stylesheet", "preload", "modulepreload", "icon", "preconnect", "dns-prefetch", "manifest"}


class Problem(Exception):
    """Why the site cannot be made, or must not be shown."""


def pages() -> dict[str, str]:
    """Every page: its path in the repository, and the one on the site."""
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    below = {path: path.removeprefix("docs/") for path in found - {*TOP}}
    return {**TOP, **below}


def places() -> dict[str, str]:
    """What a link may lead to on the site: pages, pictures, and the folder of decisions."""
    pictures = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "pictures").iterdir()]
    return {**pages(), **{path: path.removeprefix("docs/") for path in pictures}, DECISIONS: "decisions/index.md"}


def moved(text: str, source: str, known: dict[str, str]) -> str:
    """A page with its links as they are on the site; blocks of code stay."""

    def target_of(target: str) -> tuple[str, str | None]:
        """The path in the repository, and the link on the site, if it is there."""
        name, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(name))) if name else source
        if path not in known:
            return path, None
        link = os.path.relpath(known[path], posixpath.dirname(known[source]) or ".")
        return path, f"{link}#{anchor}" if anchor else link

    def link(match: re.Match[str]) -> str:
        if _ELSEWHERE.match(match["target"]):
            return match[0]
        path, there = target_of(match["target"])
        label = match["text"][1:-1]
        return f"{match['text']}({there})" if there else f'<code title="{path}">{label.strip("`")}</code>'

    def attribute(match: re.Match[str]) -> str:
        there = None if _ELSEWHERE.match(match["target"]) else target_of(match["target"])[1]
        if (
            there and match["name"] != "href"
        ):  # HTML is not rewritten by the generator, which makes a folder of each page
            there = posixpath.join("." if known[source] == "index.md" else "..", there)
        return f'{match["name"]}="{there}"' if there else match[0]

    def bar(match: re.Match[str]) -> str:
        """Code with a bar in a table: the generator would show the backslash in front of it."""
        return f"<code>{escape(match[1].replace(chr(92) + '|', '|')).replace('|', '&#124;')}</code>"

    parts = []
    at = 0
    for fence in [*_FENCE.finditer(text), None]:
        prose = text[at : fence.start() if fence else len(text)]
        prose = _CODE_WITH_BAR.sub(bar, _ATTRIBUTE.sub(attribute, _LINK.sub(link, prose)))
        parts += [prose, fence[0] if fence else ""]
        at = fence.end() if fence else at
    return "".join(parts)


def title(path: Path) -> str:
    found = re.search(r"^# (.+)$", path.read_text("utf8"), re.MULTILINE)
    if not found:
        raise Problem(f"{path.relative_to(ROOT)} has no title")
    return found[1].replace("`", "")


def decisions() -> dict[str, str]:
    """The decisions in their order: path in the repository, and title with its number."""
    files = sorted((ROOT / DECISIONS).glob("*.md"))
    return {path.relative_to(ROOT).as_posix(): f"{path.name[:4]} {title(path)}" for path in files}


def navigation() -> list[tuple[str, list[tuple[str, str]]]]:
    """Sections with their pages (title, path on the site), in the order of docs/README.md; every page is there once."""
    known = pages()
    found: list[tuple[str, list[tuple[str, str]]]] = []
    listed: list[str] = [path for path in TOP if known[path] in ("index.md", "contents.md")]
    for section in re.split(r"^## ", (ROOT / "docs" / "README.md").read_text("utf8"), flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        targets = [posixpath.normpath(posixpath.join("docs", each["target"])) for each in _LINK.finditer(body)]
        listed += [path for path in targets if path != DECISIONS]
        found.append((heading, [(title(ROOT / path), known[path]) for path in targets if path in known]))
    reasons = decisions()
    missing = known.keys() - {*listed} - reasons.keys()
    twice = {path for path in listed if listed.count(path) > 1}
    if missing or twice:
        raise Problem(f"docs/README.md does not list {sorted(missing)}, and lists twice {sorted(twice)}")
    numbered = [(name, known[path]) for path, name in reasons.items()]
    return [*found, ("Decisions", [("All", "decisions/index.md"), *numbered])]


def as_toml(sections: list[tuple[str, list[tuple[str, str]]]]) -> str:
    """The navigation as a line of the settings of the generator."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    entries = ['{ "watersmeet" = "index.md" }', '{ "All pages" = "contents.md" }']
    for heading, listed in sections:
        inner = ", ".join(f"{{ {quoted(name)} = {quoted(path)} }}" for name, path in listed)
        entries.append(f"{{ {quoted(heading)} = [{inner}] }}")
    return f"nav = [{', '.join(entries)}]\n"


def stage(place: Path) -> None:
    """Pages, pictures and settings, ready for the generator."""
    known = places()
    shutil.rmtree(place, ignore_errors=True)
    for path, there in known.items():
        to = place / "pages" / there
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            to.write_text(moved((ROOT / path).read_text("utf8"), path, known), "utf8")
        elif path != DECISIONS:
            shutil.copyfile(ROOT / path, to)
    lines = [f"- [{name}]({posixpath.basename(path)})" for path, name in decisions().items()]
    (place / "pages" / known[DECISIONS]).write_text("# Decisions\n\n" + "\n".join(lines) + "\n", "utf8")
    (place / "pages" / "site.css").write_text(STYLE, "utf8")
    settings = CONFIG.read_text("utf8").replace("[project]\n", f"[project]\n{as_toml(navigation())}", 1)
    tomllib.loads(settings)
    (place / CONFIG.name).write_text(settings, "utf8")


def build(place: Path) -> Path:
    """The HTML, made by the generator in strict mode."""
    stage(place)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(place / CONFIG.name)]
    done = subprocess.run(command, cwd=place, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True)
    if done.returncode:
        raise Problem((done.stdout + done.stderr)[-6000:] or "zensical failed; is the extra `docs` installed?")
    return place / "html"


class Page(HTMLParser):
    """A page's links, its anchors, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and _LOADING_LINKS & {*given.get("rel", "").split()}:
            self.loads.append(given.get("href", ""))
        elif tag in _LOADS and _LOADS[tag] in given:
            self.loads.append(given[_LOADS[tag]])


def faults(html: Path) -> Iterator[str]:
    """Links that lead nowhere, and what would be loaded from another machine."""
    found = {path: Page(path.read_text("utf8")) for path in sorted(html.rglob("*.html"))}
    if len(found) < len(pages()):
        yield f"{len(found)} pages were written, of {len(pages())}"
    for path, page in found.items():
        where = path.relative_to(html)
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{where}: loads {target}"
                continue
            base = html if parts.path.startswith("/") else path.parent
            there = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                yield f"{where}: {target} leads nowhere"
            elif parts.fragment and there in found and unquote(parts.fragment) not in found[there].anchors:
                yield f"{where}: {target} has no such anchor"
    for style in sorted(html.rglob("*.css")):
        if _REMOTE_STYLE.search(style.read_text("utf8")):
            yield f"{style.relative_to(html)}: loads from another machine"


def main() -> int:
    try:
        html = build(ROOT / "build" / "site")
    except Problem as problem:
        print(problem)
        return 1
    wrong = [*faults(html)]
    print("\n".join(wrong) or f"{len([*html.rglob('*.html')])} pages in {html.relative_to(ROOT)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
