"""What a search costs, as ratios of CPU times in one run, so that they hold on any processor and under load.

The claims are F109's: distribution and RRF grow with what they are given, ten pairs are read again in the time of ten
embeddings, a hybrid query costs what its parts cost, a sync of unchanged files and a start from a shell cost little.
Bounds are half again what was measured or more (docs/decisions/0057); `benchmarks/speed.py` has the figures.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from tests.embed.conftest import block, node, value

from watersmeet import Engine
from watersmeet.core.model import Hit, Plan, Ranking, Request
from watersmeet.embed.crossencoder import Crossencoder
from watersmeet.embed.onnx import Onnx
from watersmeet.engine.settings.settings import load
from watersmeet.fusion.rrf import Rrf
from watersmeet.stage.distribute import chosen

pytestmark = [pytest.mark.model, pytest.mark.slow]

GRANITE = Path(__file__).parents[1] / "models" / "granite-30m" / "src" / "watersmeet_granite_30m"
NAMES = ("kettle", "harbour", "lantern", "orchard", "violin", "glacier", "saddle", "compass", "anchor", "furnace")
VERBS = ("repair", "paint", "move", "clean", "replace", "measure", "store", "lend", "insure", "sharpen")
PLACES = ("cellar", "attic", "garden", "workshop", "boat", "kitchen", "market", "tower", "stable", "library")
NOTES = 300


def cheapest(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each, taken in turn: load and other processes only ever add."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            found[name] = min(found[name], time.process_time() - start)
    return found


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """The collector looks at every object of the process, and grows with what else the tests have loaded."""
    gc.disable()
    yield
    gc.enable()


def question(number: int) -> str:
    verb, name, place = VERBS[number % 10], NAMES[number // 10 % 10], PLACES[number // 100 % 10]
    return f"how do I {verb} the {name} of the {place}, part {number}"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    for number in range(NOTES):
        verb, name, place = VERBS[number % 10], NAMES[number // 10 % 10], PLACES[number // 100 % 10]
        text = f"To {verb} the {name} you go to the {place}. Step {number} comes after step {number - 1}."
        (folder / f"{number}.md").write_text(f"# {verb} the {name}\n\n{text}\n", "utf8")
    return folder


@pytest.fixture(scope="module")
def index(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("index") / "index"
    with Engine(place, load(start=str(place.parent), environ={})) as engine:
        engine.sync([notes])
    return place


@pytest.fixture(scope="module")
def engine(index: Path) -> Iterator[Engine]:
    with Engine(index, load(start=str(index.parent), environ={})) as opened:
        yield opened


def ranking(by: str, many: int) -> Ranking:
    return Ranking(by, tuple(Hit(f"{number}", float(many - number)) for number in range(many)))


def distribution(many: int) -> Callable[[], object]:
    return partial(chosen, ("SATKV" * many)[:many], many // 2, 0.6)


def fusion(many: int) -> Callable[[], object]:
    return partial(Rrf().fuse, [ranking("a", many), ranking("b", many)], Plan("q"))


@pytest.mark.parametrize("work", [distribution, fusion])
def test_sixteen_times_as_many_results_cost_sixteen_times_as_much(work: Callable[[int], Callable[[], object]]) -> None:
    took = cheapest({"few": work(500), "many": work(8_000)}, 8)
    assert took["many"] < 16 * 3 * took["few"]  # a square would be 256


def test_ten_pairs_are_read_in_the_time_of_ten_embeddings(tmp_path: Path) -> None:
    """The transformer with one number for a pair: as large as the rerankers that people use."""
    for file in GRANITE.iterdir():
        if file.is_file() and file.name != "model.onnx":
            shutil.copyfile(file, tmp_path / file.name)
    score = node("ReduceMax", ["sentence_embedding"], "logits") + block(12, value("logits", "float32", [1, 1]))
    (tmp_path / "model.onnx").write_bytes((GRANITE / "model.onnx").read_bytes() + block(7, score))
    texts = [f"{question(number)}? " * 6 for number in range(10)]
    reader, embedder = Crossencoder(str(tmp_path)), Onnx()
    took = cheapest({"pairs": lambda: reader.score("violin", texts), "texts": lambda: embedder.embed(texts)}, 4)
    assert took["pairs"] < 2 * took["texts"]  # measured: 1.1


def test_a_hybrid_query_costs_what_its_parts_cost(engine: Engine) -> None:
    """Questions not asked before, so that each is embedded; then the same ones again."""
    numbers, first = count(), ("lexical", "dense", "hybrid")
    last: dict[str, list[str]] = {}

    def ask(mode: str) -> None:
        last[mode] = [question(next(numbers)) for _ in range(10)]
        for text in last[mode]:
            engine.search(Request(text, mode=mode))

    def again(mode: str) -> None:
        for text in last[mode]:
            engine.search(Request(text, mode=mode))

    cheapest({mode: partial(ask, mode) for mode in first}, 2)
    took = cheapest({mode: partial(ask, mode) for mode in first}, 5)
    assert took["hybrid"] < 1.5 * (took["lexical"] + took["dense"])  # measured: 1.0 to 1.2
    cached = cheapest({"lexical": partial(again, "lexical"), "hybrid": partial(again, "hybrid")}, 4)
    assert cached["hybrid"] < 3 * cached["lexical"]  # measured: 2.0 to 2.1


def test_a_sync_of_unchanged_files_costs_a_fraction(notes: Path, tmp_path: Path) -> None:
    with Engine(
        tmp_path / "index", load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    ) as engine:
        (whole,) = cheapest({"first": lambda: engine.sync([notes])}, 1).values()
        assert cheapest({"again": lambda: engine.sync([notes])}, 3)["again"] < 0.4 * whole  # measured: .1


def test_a_start_from_a_shell_costs_a_few_imports(index: Path, tmp_path: Path) -> None:
    env = {name: text for name, text in os.environ.items() if not name.startswith("WATERSMEET__")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # real runs have bytecode
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = "from watersmeet.face.cli.main import main; main()"
    search = [command, "search", "how do I repair the kettle", "--index", str(index), "--mode"]

    def start(*arguments: str) -> float:
        with subprocess.Popen([sys.executable, "-c", *arguments], env=env, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return used.ru_utime + used.ru_stime

    runs = {
        "python": ("pass",),
        "imports": ("import click, numpy, onnxruntime, sqlite3, tokenizers",),
        "lexical": (*search, "lexical"),
        "hybrid": (*search, "hybrid"),
    }
    for arguments in runs.values():
        start(*arguments)
    took = {name: min(start(*arguments) for _ in range(3)) for name, arguments in runs.items()}
    assert took["lexical"] < 15 * took["python"]  # measured: 9 to 10
    assert took["hybrid"] < 2.7 * took["imports"]  # measured: 1.4 to 1.7
