"""A crawl of a site full of traps on this machine: every page once, limits kept, and how quickly.

    python benchmarks/crawl.py [--save FOLDER|none]

The site (tests/helpers/trap_site.py) has 300 pages, and loops, a calendar without end, a gzip bomb of 100 MB, a slow
drip, redirects to private addresses, pages that fail, disallowed pages, and several spellings of each address. It is
served by a process of its own. `rate = 0` lifts the limit of 5 requests a second, `timeout = 2` shortens the wait for
the drip; all other settings are the defaults. First `watersmeet sync URL --no-vectors` and the same again, then the
crawl alone of a site without traps, for the number of requests a second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, WATERSMEET, Runner, keep, load, machine

HELPERS = str(ROOT / "tests" / "helpers")
SERVE = f"""
import json, sys
sys.path.insert(0, {HELPERS!r})
import trap_site
from pages import page, website
with website() as site:
    if sys.argv[1] == "traps":
        paths = list(trap_site.build(site))
    else:
        paths = ["/docs/", *(f"/docs/page-{{n}}" for n in range(int(sys.argv[1])))]
        for path in paths:
            links = paths if path == "/docs/" else ["/docs/"]
            site.pages[path] = page(path, *links, text=f"{{path}} " * 200)
    print(json.dumps([site.host, paths]), flush=True)
    for line in sys.stdin:
        print(json.dumps([site.paths, site.statuses]), flush=True)
        site.forget()
"""


class Served:
    """A site in a process of its own."""

    def __init__(self, kind: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.host, self.paths = self._line()

    def requests(self) -> tuple[list[str], list[int]]:
        """Paths and statuses since the last call."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        paths, statuses = self._line()
        return paths, statuses

    def _line(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def traps(home: Path) -> dict[str, Any]:
    """Sync the site of traps twice."""
    site = Served("traps")
    run = Runner(home, _settings(site.host))
    figures: dict[str, Any] = {}
    first: Counter[str] = Counter()
    for name in ("first", "unchanged"):
        cost = run(*WATERSMEET, "sync", f"http://{site.host}/docs/", "--no-vectors", "--json", good=(0,))
        report = json.loads(cost.out)
        paths, statuses = site.requests()
        first = first or Counter(paths)
        figures[name] = {
            **{key: report[key] for key in ("added", "changed", "removed", "unchanged", "documents")},
            "skipped": len(report["skipped"]),
            "notes": [note["reason"] for note in report["notes"]],
            "requests": len(paths),
            "statuses": dict(Counter(statuses)),
            "sync_seconds": round(report["took_ms"] / 1000, 2),
            "command_seconds": round(cost.wall, 2),
            "peak_mb": round(cost.peak),
        }
    listed = json.loads(run(*WATERSMEET, "list", "--json", good=(0,)).out)["documents"]
    names = Counter(document["document"] for document in listed)
    wanted = {path.removeprefix("/docs/").rstrip("/") or "index" for path in site.paths}
    figures["pages"] = len(wanted)
    figures["pages_once"] = sum(names[name] == 1 for name in wanted)
    figures["of_the_calendar"] = sum(name.startswith("calendar/") for name in names)
    figures["other_endless"] = sum(name.startswith("maze") for name in names)
    figures["most_requests_of_one_address"] = max(n for path, n in first.items() if "/broken/" not in path)
    figures["disallowed_requested"] = first["/docs/secret/page"]
    site.close()
    return figures


def quick(pages: int) -> dict[str, Any]:
    """Requests a second of the crawl itself: pages that are read, and pages that are unchanged."""
    from watersmeet.core.indexing import Found, SourceRoot, Whole
    from watersmeet.source.site import Site

    site = Served(str(pages))
    source = Site(allowed=[site.host], rate=0, max_pages=2 * pages)
    figures: dict[str, Any] = {"pages": pages + 1}
    stamps: dict[str, str] = {}
    cursor = ""
    for name in ("read", "unchanged"):
        start = time.perf_counter()
        offers = list(source.scan(SourceRoot("site", f"http://{site.host}/docs/", cursor), stamps))
        seconds = time.perf_counter() - start
        stamps = stamps or {one.name: one.stamp for one in offers if isinstance(one, Found)}
        cursor = next(one.cursor for one in offers if isinstance(one, Whole))
        paths, statuses = site.requests()
        figures[name] = {
            "requests": len(paths),
            "seconds": round(seconds, 2),
            "requests_per_second": round(len(paths) / seconds),
            "statuses": dict(Counter(statuses)),
        }
    site.close()
    return figures


def _settings(host: str) -> dict[str, str]:
    prefix = "WATERSMEET__SOURCE__SITE__"
    settings = {f"{prefix}ALLOWED": json.dumps([host]), f"{prefix}RATE": "0.0", f"{prefix}TIMEOUT": "2.0"}
    return {"PYTHONPATH": str(ROOT / "src"), **settings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save", default=str(RESULTS), metavar="FOLDER|none")
    options = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine(), "settings": "rate = 0, timeout = 2; else the defaults"}
    with tempfile.TemporaryDirectory() as folder:
        figures["traps"] = traps(Path(folder))
        figures["quick"] = quick(1000)
    figures["machine"]["load_after"] = load()
    print(json.dumps(keep("crawl", figures, None if options.save == "none" else Path(options.save)), indent=1))


if __name__ == "__main__":
    main()
