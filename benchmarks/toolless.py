"""Tool search in registries where most servers list no tools: is the server that a task names first?

    python benchmarks/toolless.py [--lists registry_docker_mcp] [--tasks 60] [--tools 150]

`named`: tasks such as "create a new entry in NAME", for servers that list no tools. First: the server scores at least
as high as every tool and every other server. `tools`: the first sentence of a tool's description, asked for that tool;
what it costs the tools that servers are ranked beside them. `cases`: tasks with the server that is wanted.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine
from quality import settings

from watersmeet.core.entities import Entity, entity_of
from watersmeet.engine.engine import Engine

DATA = SHARED / "data" / "eval"
LISTS = ("registry_docker_mcp",)
TEMPLATES = (
    "create a new entry in {}",
    "list everything in {}",
    "send an update with {}",
    "search {} for last week",
    "add a comment in {}",
    "get the status from {}",
    "export a report with {}",
    "update a record in {}",
    "delete an old item in {}",
    "schedule a job with {}",
)
CASES = {
    "create a jira ticket": "atlassian",
    "send a slack message": "slack",
    "will it rain tomorrow": "openweather",
    "find a paper on arxiv": "arxiv-mcp-server",
    "search notion for meeting notes": "notion",
    "add a contact to hubspot": "hubspot",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "tools alone": {"toolless_servers": False, "tool_stages": ["top", "unit"]},
    "servers beside them": {"toolless_servers": True, "tool_stages": ["unit"]},
    "default": {},
}
MAX_WORDS = 20


def plain_name(name: str) -> str:
    """The name of a server as a person writes it: without a note in brackets, an owner and `MCP server`."""
    name = re.sub(r"\s*\([^)]*\)", "", name).rsplit("/", 1)[-1]
    return " ".join(re.sub(r"(?i)\b(mcp|server)\b|[-_]", " ", name).split())


def named_tasks(servers: Sequence[Entity], count: int) -> list[tuple[str, str]]:
    """Tasks, each with the name of the server that it asks for."""
    names = sorted({plain_name(server.name) for server in servers if not server.tools} - {""})
    chance = random.Random(0)  # noqa: S311 - a sample
    sample = chance.sample(names, min(count, len(names)))
    return [(chance.choice(TEMPLATES).format(name), name) for name in sample]


def tool_tasks(servers: Sequence[Entity], count: int) -> list[tuple[str, str]]:
    """First sentences of descriptions, each with the tool's id; at most five a server."""
    chance = random.Random(1)  # noqa: S311 - a sample
    tasks = []
    for server in servers:
        own = []
        for tool in server.tools:
            words = re.split(r"(?<=[.!?])\s|\n", tool.description.strip())[0].split()
            if 4 <= len(words) <= MAX_WORDS:
                own.append((" ".join(words).rstrip("."), f"{server.path}#{tool.name}"))
        tasks += chance.sample(own, min(5, len(own)))
    return chance.sample(tasks, min(count, len(tasks)))


def named_first(engine: Engine, tasks: Sequence[tuple[str, str]]) -> dict[str, Any]:
    first, listed, lost = 0, 0, []
    for task, name in tasks:
        answer = engine.registry.find_tools(task)
        names = [plain_name(server.server_name) for server in answer.servers]
        best = max((tool.score for tool in answer.tools), default=0.0)
        leads = bool(names) and names[0] == name and answer.servers[0].score >= best
        first, listed = first + leads, listed + (name in names)
        lost += [] if leads else [task]
    return {"tasks": len(tasks), "first": first, "named": listed, "not first": lost}


def tools_found(engine: Engine, tasks: Sequence[tuple[str, str]]) -> dict[str, float]:
    first = reciprocal = behind = 0.0
    for task, wanted in tasks:
        answer = engine.registry.find_tools(task)
        place = next((n for n, t in enumerate(answer.tools, 1) if f"{t.server_path}#{t.tool_name}" == wanted), 0)
        first, reciprocal = first + (place == 1), reciprocal + (1 / place if place else 0)
        behind += bool(place and answer.servers and answer.servers[0].score > answer.tools[place - 1].score)
    share = {"hit@1": first, "mrr@10": reciprocal, "behind a server": behind}
    return {"tasks": len(tasks), **{name: round(value / max(1, len(tasks)), 4) for name, value in share.items()}}


def wanted_servers(engine: Engine) -> dict[str, Any]:
    found = {}
    for task, wanted in CASES.items():
        answer = engine.registry.find_tools(task)
        offers = [(s.score, s.server_path) for s in answer.servers] + [(t.score, t.server_path) for t in answer.tools]
        best = max(offers, default=(0.0, ""))
        score = next((s.score for s in answer.servers if s.server_path == wanted), None)
        found[task] = {"wanted": wanted, "score": score, "first": best[1], "confidence": answer.confidence}
    return found


def measured(folder: Path, lists: Sequence[str], data: Path, count: int, tools: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    with Engine(folder, settings("default")) as engine:
        for name in lists:
            engine.registry.register([data / name / "corpus.jsonl"])
        servers = [entity_of(record) for record in engine.registry.listing("mcp_server")]
    for variant, changes in VARIANTS.items():
        with Engine(folder, settings("default", {"registry": changes})) as engine:
            result[variant] = {
                "named": named_first(engine, named_tasks(servers, count)),
                "tools": tools_found(engine, tool_tasks(servers, tools)),
                "cases": wanted_servers(engine),
            }
    return result


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Servers without tools at {result['commit']}",
        "",
        f"{result['date']}. {', '.join(result['lists'])}: tasks that name a server without tools, and tools asked for"
        " by the first sentence of their descriptions.",
        "",
        "| | server first | server named | tool: hit@1 | MRR@10 | behind a server |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in result["variants"].items():
        named, tools = row["named"], row["tools"]
        lines.append(
            f"| {name} | {named['first']} of {named['tasks']} | {named['named']} | {tools['hit@1']:.3f} |"
            f" {tools['mrr@10']:.3f} | {tools['behind a server']:.3f} |"
        )
    lines += ["", "| task | wanted | its score | first | confidence |", "|---|---|--:|---|--:|"]
    for task, case in result["variants"]["default"]["cases"].items():
        score = "" if case["score"] is None else f"{case['score']:.2f}"
        lines.append(f"| {task} | {case['wanted']} | {score} | {case['first']} | {case['confidence']:.2f} |")
    missed = result["variants"]["default"]["named"]["not first"]
    return "\n".join([*lines, "", "Not first in `default`: " + ("; ".join(missed) or "none") + ".", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lists", default=",".join(LISTS))
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--tools", type=int, default=150)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--index", type=Path, help="an index to use again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    lists = args.lists.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        found = measured(args.index or Path(scratch) / "index", lists, args.data, args.tasks, args.tools)
    kept = keep("toolless", {"machine": machine(), "lists": lists, "variants": found}, args.out)
    text = markdown(kept)
    (args.out / f"toolless-{kept['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
