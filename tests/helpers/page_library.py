"""What the page's tests read: notes with everything that Markdown has, other formats, many results, hostile texts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from hostile_markdown import HOSTILE
from pdf_files import pdf

RICH = """---
tags: [showcase]
---
# Rich note

A paragraph with **bold**, *slanted* and ==marked== words, `code`, %%a secret comment%% and a pelican.

See [[Tides]], [[Tides#Spring tide|spring tides]], [the code](code/heron.py), [[Nowhere]], [a dead file](no/such.md),
[a site](https://example.org/start) and [a part of this note](#the-table).

> [!warning] Mind the *gap*
> A callout with `code`.

> [!tip]- Folded away
> Inside of it.

- [ ] an open task
- [x] a done task

## The table

| Bird | Legs |
|:-----|-----:|
| heron | 2 |
| flamingo | 1 |

```python
def pelican(x):
    return x == 1
```

![A chart](https://example.org/chart.png) and ![[sketch.png]].
"""
WEB_PAGES = {
    "/guide.html": "<html><head><title>Guide</title></head><body><main><h1>Guide</h1><p>"
    + "An introduction with enough words to be a page. " * 30
    + "</p><h2 id='cassowary'>Care</h2><p>"
    + "A cassowary needs a large garden and fruit. " * 30
    + "</p></main></body></html>"
}
LONG = "\n\n".join(f"## Part {n}\n\nThe avocet of part {n} walks on {'mud and sand ' * 60}." for n in range(6))


def write_library(folder: Path) -> None:
    (folder / "code").mkdir(parents=True)
    (folder / "hostile").mkdir()
    (folder / "many").mkdir()
    (folder / "rich.md").write_text(RICH, "utf8")
    (folder / "tides.md").write_text(
        "---\ntags: [water]\nupdated: 2020-02-02\n---\n# Tides\n\nBack to [[rich]].\n\n"
        + "Text of tides. " * 200
        + "\n\n## Spring tide\n\nThe highest one.\n",
        "utf8",
    )
    (folder / "long.md").write_text(f"# Long\n\n{LONG}\n", "utf8")
    (folder / "code" / "heron.py").write_text('def heron(legs):\n    """Stand still."""\n    return legs - 1\n', "utf8")
    (folder / "letter.eml").write_text(
        "From: ada@example.org\nTo: bo@example.org\nSubject: The spoonbill\nDate: Thu, 1 Jan 2026 10:00:00 +0000\n\n"
        "Dear Bo,\n\n  * the spoonbill\n  * <b>is</b> here\n",
        "utf8",
    )
    (folder / "report.pdf").write_bytes(
        pdf([[(12, f"Page {n} is about {what}.")] * 30 for n, what in enumerate(("rivers", "boats", "an ibis"), 1)])
    )
    for number in range(60):
        tag = ("sea", "shore", "sky")[number % 3]
        (folder / "many" / f"{number:02}.md").write_text(
            f"---\ntags: [{tag}]\n---\n# Gull {number}\n\nThe seagull number {number} flies.\n", "utf8"
        )
    for number, text in enumerate(HOSTILE):
        (folder / "hostile" / f"{number:02}.md").write_text(f"Case zebra{number:02}\n\n{text}\n\nafter it\n", "utf8")


@contextmanager
def pages_of(pages: Mapping[str, str]) -> Iterator[str]:
    """A website with these pages."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = pages.get(self.path, "").encode()
            self.send_response(200 if content else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
