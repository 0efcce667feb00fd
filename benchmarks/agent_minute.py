"""An agent's first minute: `install`, the first call on a new folder, and the tokens of five typical calls.

    python benchmarks/agent_minute.py [--before SRC] [--runs 3] [--data FOLDER]

`install` writes a client's settings in an empty home, and the server is started as those say, over stdio with plain
JSON-RPC. Each folder is new in each run. `--before` measures the package of another checkout (its `src`) in the same
run; `git archive COMMIT src | tar x -C build/before` makes one. Tokens are those of `core/token_count.py`, an estimate,
of the text and of the structured content as they are sent: most clients give a model one of the two, some give it both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, load, machine

from watersmeet.core.token_count import estimate

FOLDERS = {
    "rust_book": ("how do I share data between threads?", "ch16-03"),
    "obsidian_help_en": ("how do I link to a heading of another note?", "Internal links"),
    "kubernetes_en": ("how do I restart a deployment without downtime?", "run-stateless-application"),
}
"""The question, and a part of the path of the document that is read."""
INDEXED_SECONDS = 300.0
ABSENT = "which operas did Georges Bizet compose in Rome?"
HERE = str(Path(__file__).resolve().parents[1] / "src")
RUN = "from watersmeet.face.cli.main import main; main()"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    """A server that a client has started: requests by JSON-RPC, one line each."""

    def __init__(self, command: list[str], environ: dict[str, str], folder: str) -> None:
        self._process = subprocess.Popen(
            command, env=environ, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._number = 0
        self.ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params or {}})
        assert self._process.stdout
        while True:
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                found: dict[str, Any] = answer["result"]
                return found

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cost(answer: dict[str, Any]) -> dict[str, int]:
    text = "".join(part.get("text", "") for part in answer["content"])
    structured = answer.get("structuredContent") or {}
    found = {"text": estimate(text), "structured": estimate(dumps(structured)) if structured else 0}
    return {**found, "both": sum(found.values())}


def typical_calls(server: Server, query: str, document: str) -> dict[str, dict[str, int]]:
    """The tokens of the five calls, once the whole folder is indexed."""
    end = time.monotonic() + INDEXED_SECONDS
    while "indexing" in server.call("search", query=query)["structuredContent"] and time.monotonic() < end:
        time.sleep(1)
    return {
        "search": cost(server.call("search", query=query)),
        "search, budget 1500": cost(server.call("search", query=query, budget=1500)),
        "search, not there": cost(server.call("search", query=ABSENT)),
        "get": cost(server.call("get", id=document)),
        "related": cost(server.call("related", id=document)),
    }


def minute(folder: Path, query: str, part: str, source: str) -> dict[str, Any]:
    """One run on a new copy of a folder, in a home of its own."""
    document = next(p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*.md")) if part in p.as_posix())
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        copy = shutil.copytree(folder, home / folder.name)
        environ = {k: v for k, v in os.environ.items() if not k.startswith("WATERSMEET__")} | {
            "HOME": place,
            "XDG_CACHE_HOME": f"{place}/cache",
            "XDG_CONFIG_HOME": f"{place}/config",
            "PYTHONPATH": source,
        }
        start = time.perf_counter()
        words = ["install", "cursor", "--scope", "user", "--in", str(copy), "--yes", "--quiet"]
        subprocess.run([sys.executable, "-c", RUN, *words], env=environ, cwd=place, check=True)
        installed = time.perf_counter() - start
        entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["watersmeet"]
        begin = time.perf_counter()
        server = Server([sys.executable, "-c", RUN, *entry["args"]], environ, place)
        listed = server.ask("tools/list")
        call = time.perf_counter()
        first = server.call("search", query=query)
        end = time.perf_counter()
        calls = typical_calls(server, query, document)
        server.close()
    return {
        "install_s": round(installed, 2),
        "call_s": round(end - call, 2),
        "since_start_s": round(end - begin, 2),
        "results": len(first["structuredContent"]["results"]),
        "indexing": first["structuredContent"].get("indexing"),
        "tools_list_bytes": len(dumps(listed).encode()),
        "tools_list_tokens": estimate(dumps(listed)),
        "calls": calls,
    }


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    middle = {
        name: statistics.median(run[name] for run in runs)
        for name in ("install_s", "call_s", "since_start_s", "tools_list_bytes", "tools_list_tokens")
    }
    calls = {
        name: {part: round(statistics.median(run["calls"][name][part] for run in runs)) for part in cell}
        for name, cell in runs[0]["calls"].items()
    }
    return {**middle, "calls": calls, "five_calls": sum(cell["both"] for cell in calls.values()), "runs": runs}


def table(made: dict[str, Any]) -> str:
    """The figures as Markdown, before and after side by side."""
    lines = [
        "# An agent's first minute",
        "",
        f"Commit {made['commit']}, load {made['machine']['load_before']} to {made['load_after']}. Tokens are estimates",
        "of text and structured content together; medians.",
        "",
    ]
    for folder, states in made["folders"].items():
        lines += ["", f"## {folder}", "", f"| | {' | '.join(states)} |", f"|---|{'---|' * len(states)}"]
        rows = {
            "install, s": [one["install_s"] for one in states.values()],
            "first call, s": [one["call_s"] for one in states.values()],
            "start to first answer, s": [one["since_start_s"] for one in states.values()],
            "tools/list, bytes": [one["tools_list_bytes"] for one in states.values()],
            "tools/list, tokens": [one["tools_list_tokens"] for one in states.values()],
        }
        for name in next(iter(states.values()))["calls"]:
            rows[f"{name}, tokens (text + structured)"] = [
                "{both} ({text} + {structured})".format(**one["calls"][name]) for one in states.values()
            ]
        rows["five calls, tokens"] = [one["five_calls"] for one in states.values()]
        rows["with tools/list"] = [one["five_calls"] + one["tools_list_tokens"] for one in states.values()]
        lines += [f"| {name} | {' | '.join(map(str, cells))} |" for name, cells in rows.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default="", metavar="SRC")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "markdown")
    parser.add_argument("--folders", nargs="*", default=list(FOLDERS))
    parser.add_argument("--no-save", action="store_true")
    given = parser.parse_args()
    sources = {**({"before": os.path.abspath(given.before)} if given.before else {}), "now": HERE}
    figures: dict[str, Any] = {"machine": machine(), "folders": {}}
    for name in given.folders:
        runs: dict[str, list[dict[str, Any]]] = {state: [] for state in sources}
        for _ in range(given.runs):
            for state, source in sources.items():
                runs[state].append(minute(given.data / name, *FOLDERS[name], source))
        figures["folders"][name] = {state: summary(each) for state, each in runs.items()}
    made = keep("agent_minute", {**figures, "load_after": load()}, None if given.no_save else RESULTS)
    if not given.no_save:
        (RESULTS / f"agent_minute-{made['commit']}.md").write_text(table(made), "utf8")
    print(table(made))


if __name__ == "__main__":
    main()
