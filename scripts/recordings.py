"""Search results, recorded before a change of the code and compared after it.

    python scripts/recordings.py record FILE      # with the code as it was
    python scripts/recordings.py compare FILE     # with the code as it is: nothing may differ by more than 1e-9

The corpus is two vaults of ../shared/data/markdown as one folder, and two registries of ../shared/data/eval with
private entities among them. 100 queries (headings, sentences, identifiers) are asked in every mode of every recipe, 50
results each; the registry is asked by four viewers. `--only docs|registry` does one of the two, `--queries N` asks
fewer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.core.visibility import EVERYONE, OWNER, Viewer
from watersmeet.engine.settings.settings import load

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RECIPES = ("default", "docs", "notes", "registry", "identifiers")
MODES = ("", "lexical", "exact", "static", "dense", "sparse", "hybrid")
VIEWERS = {"owner": OWNER, "none": None, "everyone": EVERYONE, "ann": Viewer("ann", ("blue",))}
TASKS = (
    "query a database", "read and write files", "search the web", "weather forecast", "send an email",
    "manage kubernetes clusters", "GitHub pull requests", "SQLite", "browser automation", "pdf forms",
    "design a poster", "#database", "postgres schema", "time zones", "write tests", "slack messages",
    "airtable-mcp-server", "vector search", "stock prices", "docker containers",
)  # fmt: skip
AUDIENCES: tuple[dict[str, Any], ...] = (
    {},
    {"visibility": "private", "owner": "ann"},
    {"visibility": "group-restricted", "allowed_groups": ["blue"]},
    {},
)
CLOSE = 1e-9
NOW = datetime(2026, 11, 1, tzinfo=UTC)
TIMES = {"took_ms", "timings"}
NEW: set[str] = set()
"""Fields that are new since the recording."""


def corpus(folder: Path) -> Path:
    vault = folder / "vault"
    for name in ("obsidian_help_en", "foam_docs"):
        shutil.copytree(SHARED / "markdown" / name, vault / name)
    return vault


def queries(vault: Path, many: int) -> list[str]:
    chance = random.Random(7)  # noqa: S311 - to be repeatable
    headings: set[str] = set()
    sentences: set[str] = set()
    names: set[str] = set()
    for path in sorted(vault.rglob("*.md")):
        text = path.read_text("utf8", "replace")
        headings |= {line.lstrip("# ").strip() for line in text.splitlines() if re.match(r"#{1,4} \w", line)}
        sentences |= {one.strip() for one in re.findall(r"[A-Z][^.\n|`\[\]]{30,110}\.", text)}
        names |= set(re.findall(r"`([\w./:-]{4,30})`", text))
    found = [chance.sample(sorted(each), many // 3) for each in (headings, sentences, names)]
    return [one for each in found for one in each] + ["#tag", "how do I link notes?", "plugin", "x"][: many % 3 + 3]


def records() -> list[dict[str, Any]]:
    made = []
    for name, kind in (("registry_docker_mcp", "mcp_server"), ("registry_skills", "skill")):
        lines = (SHARED / "eval" / name / "corpus.jsonl").read_text("utf8").splitlines()[:150]
        for number, line in enumerate(lines):
            record = json.loads(line)
            one = {
                "kind": kind,
                "path": f"/{name}/{record['_id']}",
                "name": record["title"],
                "description": record["text"],
            }
            one["tags"] = (record.get("metadata") or {}).get("tags", [])[:5]
            one |= AUDIENCES[number % 4]
            if kind == "mcp_server":
                words = re.findall(r"[A-Za-z]{5,}", record["text"])[:6]
                one["tools"] = [
                    {"name": f"get_{w.lower()}", "description": f"Get the {w} of {record['title']}"} for w in words
                ]
            made.append(one)
    behind = [one["path"] for one in made[:8]]
    tools = [{"alias": f"do_{n}", "tool_name": "x", "backend_server_path": path} for n, path in enumerate(behind)]
    virtual = {"path": "/virtual/all", "name": "Everything about databases", "description": "One door"}
    own = [{"name": f"do_{n}", "description": "query a database"} for n in range(8)]
    made.append({"kind": "virtual_server", **virtual, "backend_paths": behind, "tool_mappings": tools, "tools": own})
    return made


def docs(engine: Engine, queries: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for recipe in RECIPES:
        for mode in MODES:
            for query in queries:
                answer = engine.search(Request(query, mode, recipe, 50, now=NOW))
                found[f"{recipe} {mode} {query}"] = {
                    "mode": answer.mode,
                    "hits": [[one.id, one.score, one.fusion_score] for one in answer.results],
                    "confidence": answer.confidence,
                    "failures": [one.by for one in answer.failures],
                }
            print(f"{recipe} {mode or '(best)'}", file=sys.stderr, flush=True)
    return found


def registry(engine: Engine) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, viewer in VIEWERS.items():
        for recipe in ("", "registry"):
            for mode in ("", "lexical", "static"):
                for task in TASKS:
                    key = f"{name} {recipe} {mode} {task}"
                    found[f"search {key}"] = searched(engine, task, mode, recipe, viewer)
                    found[f"tools {key}"] = plain(
                        engine.registry.find_tools(task, top_n=20, viewer=viewer, recipe=recipe, mode=mode)
                    )
        found[f"list {name}"] = plain(engine.registry.listing("", "data", viewer))
        found[f"skills {name}"] = plain(engine.registry.skills_search("data", viewer))
        found[f"tags {name}"] = plain(engine.registry.tags(viewer))
        found[f"get {name}"] = plain(engine.get("/virtual/all", viewer))
        found[f"virtual {name}"] = plain(engine.registry.get("/virtual/all", viewer))
        print(f"registry as {name}", file=sys.stderr, flush=True)
    return found


def searched(engine: Engine, task: str, mode: str, recipe: str, viewer: Viewer | None) -> Any:
    from watersmeet.engine.registry.requests import EntityRequest

    return plain(engine.registry.search(EntityRequest(task, max_results=30, mode=mode, recipe=recipe, viewer=viewer)))


def plain(explain: Any) -> Any:
    """Without times."""
    if hasattr(explain, "to_json"):
        explain = explain.to_json()
    if isinstance(explain, dict):
        return {key: plain(value) for key, value in explain.items() if key not in TIMES}
    return [plain(one) for one in explain] if isinstance(explain, list | tuple) else explain


def recorded(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        vault = corpus(Path(folder))
        if options.only != "registry":
            with Engine(Path(folder) / "docs", load(start=folder, environ={})) as engine:
                engine.sync([vault])
                engine.deepen(tiers=("sparse",))
                engine.search("warm", mode="sparse")
                found["docs"] = docs(engine, queries(vault, options.queries))
        if options.only != "docs":
            with Engine(Path(folder) / "registry", load(start=folder, environ={})) as engine:
                engine.registry.register(records())
                found["registry"] = registry(engine)
    return found


def differences(before: Any, after: Any, at: str = "") -> list[str]:
    if isinstance(before, float) or isinstance(after, float):
        same = isinstance(before, int | float) and isinstance(after, int | float) and abs(before - after) <= CLOSE
        return [] if same else [f"{at}: {before} -> {after}"]
    if isinstance(before, dict) and isinstance(after, dict):
        NEW.update(key for key in after if key not in before)
        return [d for key in before for d in differences(before[key], after.get(key), f"{at} / {key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [d for n, (a, b) in pairs for d in differences(a, b, f"{at}[{n}]")]
    return [] if before == after else [f"{at}: {str(before)[:200]} -> {str(after)[:200]}"]


def main() -> int:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=("record", "compare"))
    made.add_argument("file", type=Path)
    made.add_argument("--queries", type=int, default=100)
    made.add_argument("--only", choices=("docs", "registry"))
    options = made.parse_args()
    start = time.monotonic()
    found = recorded(options)
    took = f"{time.monotonic() - start:.0f} s"
    if options.what == "record":
        options.file.write_text(json.dumps(found), "utf8")
        print(f"recorded {sum(map(len, found.values()))} answers in {took}")
        return 0
    before = json.loads(options.file.read_text("utf8"))
    found = json.loads(json.dumps(found))
    wrong = {
        part: {k: d for k in found[part] if (d := differences(before[part].get(k), found[part][k]))} for part in found
    }
    for part, keys in wrong.items():
        print(f"{part}: {len(keys)} of {len(found[part])} answers differ")
        for key, differing in list(keys.items())[:15]:
            print(f"  {key}: {len(differing)} differences, first {differing[0][:300]}")
    print(f"{took}; new fields: {', '.join(sorted(NEW)) or 'none'}")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
