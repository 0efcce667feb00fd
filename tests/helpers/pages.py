"""A website on this machine: pages by path, with validators, redirects, failures and a record of the requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What a path answers."""

    body: bytes = b""
    status: int = 200
    type: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)
    act: Callable[[Any], None] | None = None  # writes the answer itself

    @property
    def etag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:16]}"'


def page(title: str, *links: str, text: str = "", head: str = "") -> Answer:
    """A page with a navigation, links and a text of its own."""
    listed = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    body = f"<main><h1>{title}</h1><p>{text or f'About {title}, and nothing else.'}</p></main>"
    html = f"<html><head><title>{title}</title>{head}</head><body><nav>Sitewide navigation<ul>{listed}</ul></nav>{body}"
    return Answer(f"{html}</body></html>".encode())


def moved(location: str, status: int = 301) -> Answer:
    return Answer(b"", status, headers={"Location": location})


def sitemap(base: str, pages: Mapping[str, str]) -> Answer:
    """A sitemap of these paths, each with its date."""
    dates = {path: f"<lastmod>{date}</lastmod>" if date else "" for path, date in pages.items()}
    urls = "".join(f"<url><loc>{base}{path}</loc>{date}</url>" for path, date in dates.items())
    text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    return Answer(text.encode(), type="application/xml")


class Website(ThreadingHTTPServer):
    """Answers by path; `paths` and `statuses` are what was requested and answered."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Answer] = {}
        self.otherwise: Callable[[str], Answer | None] = lambda path: None
        self.validators = True
        self.paths: list[str] = []
        self.statuses: list[int] = []
        self.most = self.now = 0  # requests at once
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.host = f"127.0.0.1:{self.server_port}"
        self.url = f"http://{self.host}"

    def forget(self) -> None:
        self.paths.clear()
        self.statuses.clear()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: Website

    def do_GET(self) -> None:
        site = self.server
        with site.lock:
            site.paths.append(self.path)
            site.now += 1
            site.most = max(site.most, site.now)
        try:
            self._answer(site.pages.get(self.path) or site.otherwise(self.path) or Answer(b"not here", 404))
        finally:
            with site.lock:
                site.now -= 1
        self.close_connection = True

    def _answer(self, found: Answer) -> None:
        if found.act is not None:
            found.act(self)
            return
        tagged = found.status == 200 and self.server.validators
        same = tagged and self.headers.get("If-None-Match") == found.etag
        status = 304 if same else found.status
        self.server.statuses.append(status)
        self.send_response(status)
        headers = {"Content-Type": found.type, "Content-Length": str(len(found.body)), **found.headers}
        for name, value in headers.items():
            if value and not (same and name == "Content-Length"):
                self.send_header(name, value)
        if tagged:
            self.send_header("ETag", found.etag)
        self.end_headers()
        if not same:
            self.wfile.write(found.body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def website() -> Iterator[Website]:
    site = Website()
    thread = threading.Thread(target=site.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        site.shutdown()
        thread.join()
        site.server_close()
