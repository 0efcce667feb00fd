"""A registry in MongoDB: the same answers as in the index alone, conflicts, kills, and what it costs.

    python benchmarks/mongodb.py [--data ../shared/data/eval] [--entities 1000] [--queries 200] [--dense granite]

`same`: real records of public lists, registered into an index alone and through MongoDB, and pulled from there into a
second index; the same queries to all of them, hybrid and lexical, with both recipes, and with vectors in the database.
`writers`: four processes that change the same records. `kills`: the server is killed while it is written to.
The engine comes from npm, as for the tests (tests/helpers/mongodb_server.py).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from _common import RESULTS, ROOT, SHARED, keep, load, machine, percentiles

from watersmeet.core.errors import DatabaseProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.registry.shared_records import close_shared, shared_records
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.settings.settings import load as load_settings

sys.path.insert(0, str(ROOT / "tests" / "helpers"))
import mongodb_server

LISTS = {"mcpbench_servers": 28, "registry_docker_mcp": 328, "registry_skills": 44}
REST = "registry_awesome_mcp"
GROUPS = ("servers", "tools", "agents", "skills", "virtual_servers")
MODES = ("hybrid", "lexical")
RECIPES = ("default", "registry")
WRITERS, CHANGES, CHANGED, KILLS = 4, 50, 5, 5


def records_of(data: Path, count: int) -> list[Any]:
    """Real records: servers with and without tools, and skills with their bodies."""
    found: list[Any] = []
    for name, most in (*LISTS.items(), (REST, count)):
        lines = (data / name / "corpus.jsonl").open(encoding="utf8")
        found += [json.loads(line) for line in lines][: min(most, count - len(found))]
    return found


def queries_of(records: Sequence[Any], count: int) -> list[str]:
    """Typical queries: a name, or some words of a description."""
    chance = random.Random(0)  # noqa: S311 - a sample
    made = []
    for record in chance.sample(list(records), count):
        words = record["text"].split()
        start = chance.randint(0, max(0, len(words) - 8))
        part = " ".join(words[start : start + chance.randint(2, 8)])
        made.append(part if part and chance.random() < 0.6 else record["title"])
    return made


def settings(dense: str, uri: str = "", **more: Any) -> Settings:
    flags: dict[str, Any] = {"index": {"dense": dense}} if dense else {}
    if uri:
        flags |= {"registry": {"records": "mongodb"}, "records": {"mongodb": {"uri": uri, **more}}}
    return load_settings(environ={}, flags=flags)


def answers(engine: Engine, queries: Sequence[str], recipe: str, mode: str) -> tuple[list[Any], dict[str, float]]:
    """Ids in order with their scores, of each query, and what a query took."""
    found, took = [], []
    for query in queries:
        start = time.perf_counter()
        answer = engine.registry.search(EntityRequest(query, recipe=recipe, mode=mode)).to_json()
        took.append((time.perf_counter() - start) * 1000)
        assert answer["search_mode"] == ("hybrid" if mode == "hybrid" else "lexical-only"), answer["failures"]
        shown = [one for group in GROUPS for one in answer[group]]
        found.append([(one.get("path") or one["tool_name"], one["relevance_score"]) for one in shown])
    return found, percentiles(took)


def compared(wanted: Sequence[Any], found: Sequence[Any]) -> dict[str, int]:
    """Of the queries, how many have the same ids, in the same order, with the same scores."""
    pairs = list(zip(wanted, found, strict=True))
    return {
        "queries": len(pairs),
        "same_ids": sum({id for id, _ in one} == {id for id, _ in other} for one, other in pairs),
        "same_order": sum([id for id, _ in one] == [id for id, _ in other] for one, other in pairs),
        "same_scores": sum(one == other for one, other in pairs),
    }


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), round(time.perf_counter() - start, 2)


def same(folder: Path, uri: str, records: list[Any], queries: Sequence[str], dense: str) -> dict[str, Any]:
    found: dict[str, Any] = {"seconds": {}, "answers": {}, "ms": {}}
    seconds = found["seconds"]
    with Engine(folder / "local", settings(dense)) as local:
        _, seconds["register, local"] = timed(lambda: local.registry.register(records))
        wanted = {(r, m): answers(local, queries, r, m) for r in RECIPES for m in MODES}
        found["entities"] = local.registry.statistics()
    with Engine(folder / "writer", settings(dense, uri, write_through=True)) as writer:
        _, seconds["register, MongoDB"] = timed(lambda: writer.registry.register(records))
        found["embeddings"] = writer.registry.statistics()["embeddings"]
    with Engine(folder / "reader", settings(dense, uri)) as reader:
        report, seconds["pull of all"] = timed(lambda: reader.registry.pull())
        assert report.registered == found["entities"]["documents"], report
        _, seconds["pull of nothing"] = timed(lambda: reader.registry.pull())
        _compare(found, reader, queries, wanted, "pulled")
    for search in ("cosine", "documentdb"):
        with Engine(folder / "reader", settings(dense, uri, vector_search=search)) as reader:
            only = {key: value for key, value in wanted.items() if key == ("registry", "hybrid")}
            _compare(found, reader, queries, only, f"vector_search = {search}")
            reader_failures = reader.registry.search(EntityRequest(queries[0], recipe="registry")).failures
            found["answers"][f"vector_search = {search}"]["said"] = [one.reason for one in reader_failures]
    close_shared()
    return found


def _compare(found: dict[str, Any], engine: Engine, queries: Sequence[str], wanted: Any, name: str) -> None:
    for (recipe, mode), (before, took) in wanted.items():
        key = name if len(wanted) == 1 else f"{name}, {recipe}, {mode}"
        after, ms = answers(engine, queries, recipe, mode)
        found["answers"][key] = compared(before, after)
        found["ms"][key] = {"local": took, "here": ms}


def writers(uri: str) -> dict[str, Any]:
    """Processes that count up the same records: no count is lost, and conflicts are seen."""
    start = time.perf_counter()
    command = [sys.executable, "-c", mongodb_server.COUNT_UP, uri, "writers", str(CHANGES), str(CHANGED)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(WRITERS)]
    conflicts = [int(one.communicate()[0]) for one in running]
    shared = shared_records(settings("", uri, database="writers"))
    assert shared is not None
    total = sum(one.record["n"] for one in shared)
    close_shared()
    return {
        "writers": WRITERS,
        "changes": WRITERS * CHANGES,
        "counted": total,
        "conflicts": sum(conflicts),
        "seconds": round(time.perf_counter() - start, 2),
    }


def kills(server: Any) -> dict[str, Any]:
    """The server killed while it is written to, and started again over its folder: what was acknowledged and lost."""
    made: dict[str, Any] = {"kills": KILLS, "acknowledged": 0, "lost": 0, "restart_seconds": []}
    for kill in range(KILLS):
        shared = shared_records(settings("", server.uri, database=f"kill{kill}", timeout=5.0))
        assert shared is not None
        acknowledged: list[str] = []

        def write(shared: Any = shared, acknowledged: list[str] = acknowledged) -> None:
            try:
                for number in range(1_000_000):
                    shared.put({"kind": "skill", "path": f"/{number}", "name": "x" * 1000}, None)
                    acknowledged.append(f"/{number}")
            except DatabaseProblem:
                return

        writer = Thread(target=write)
        writer.start()
        while len(acknowledged) < 100 + 30 * kill:
            time.sleep(0.001)
        server.kill()
        writer.join()
        _, seconds = timed(server.start)
        missing = set(acknowledged) - shared.versions().keys()
        close_shared()
        made["acknowledged"] += len(acknowledged)
        made["lost"] += len(missing)
        made["restart_seconds"].append(seconds)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    parser.add_argument("--entities", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dense", default="", help="the dense embedder; default: that of the settings")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    if mongodb_server.missing():
        print(mongodb_server.NOT_RUN, file=sys.stderr)
        return 2
    server = mongodb_server.running()
    records = records_of(args.data, args.entities)
    about = machine()
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            "same": same(Path(folder), server.uri, records, queries_of(records, args.queries), args.dense),
            "writers": writers(server.uri),
            "kills": kills(server),
        }
    result = {"machine": about, "load_after": load(), **parts}
    print(json.dumps(result, indent=1, ensure_ascii=False))
    kept = keep("mongodb", result, args.out)
    (args.out / f"mongodb-{kept['commit']}.md").write_text(_page(result), "utf8")
    return 0


def _page(result: dict[str, Any]) -> str:
    same, writers, kills = (result[name] for name in ("same", "writers", "kills"))
    lines = [
        "# A registry in MongoDB",
        "",
        f"{same['entities']['documents']} entities with {same['entities']['tools']} tools, by `benchmarks/mongodb.py`.",
        "The server is MongoDB's engine 9.0 alpha over a Unix socket; no DocumentDB was at hand.",
        "",
        "| index beside a local one | queries | same ids | same order | same scores | p50 ms, local | p50 ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in same["answers"].items():
        ms = same["ms"][name]
        counts = " | ".join(str(one[key]) for key in ("queries", "same_ids", "same_order", "same_scores"))
        lines.append(f"| {name} | {counts} | {ms['local']['p50']} | {ms['here']['p50']} |")
    lines += ["", "| step | seconds |", "|---|---|", *(f"| {k} | {v} |" for k, v in same["seconds"].items())]
    lines += [
        "",
        f"{writers['writers']} processes made {writers['changes']} changes to {CHANGED} records:"
        f" {writers['counted']} counted, {writers['conflicts']} conflicts.",
        f"{kills['kills']} kills: {kills['acknowledged']} writes acknowledged, {kills['lost']} lost;"
        f" ready again after {max(kills['restart_seconds'])} s at most.",
        "",
        f"Load before: {result['machine']['load_before']}, after: {result['load_after']}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
