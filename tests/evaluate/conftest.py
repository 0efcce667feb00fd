"""A small dataset in BEIR form whose queries are neither trivial nor hopeless."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import Settings, load

WORDS = [a + b for a in "ba ke lo mi nu pra sto tri vel wen".split() for b in "dor fin gal hun mar nel pos rek".split()]

VAULT = {
    "guides/setup.md": "# Setup\n\nUnpack it and run `tern serve --no-telemetry`. See [rotating keys](keys.md).\n\n"
    "## Ports\n\n" + "The server listens on port 7878 unless another one is named in its settings file. " * 4 + "\n",
    "guides/keys.md": "# Keys\n\nRotate keys every quarter with `rotate_keys(user_id)`. Old keys stay valid for a week"
    " after they were replaced by new ones. "
    + "Nobody should share keys between two machines of one team. "
    * 4
    + "\n\n"
    "## Errors\n\n" + "TRN-1042 means that the key has expired and that a new one must be made at once. " * 4 + "\n",
    "tides.md": "# Tides\n\nPlain ideas about tides and estuaries. See [the setup of a server](guides/setup.md).\n",
}


@pytest.fixture
def settings() -> Settings:
    """Without vectors: what is measured here is the measuring."""
    return load(flags={"index": {"vectors": False}})


@pytest.fixture
def linked(tmp_path: Path, settings: Settings, write: Callable[[dict[str, str]], Path]) -> Iterator[Engine]:
    """An index of a few linked notes."""
    folder = write(VAULT)
    with Engine(tmp_path / "vault-index", settings) as engine:
        engine.sync([folder])
        yield engine


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """Sixty records about overlapping topics; each of forty queries is some words of one record and others'."""
    draw = random.Random(7)  # noqa: S311 - a sample
    folder = tmp_path / "tiny"
    folder.mkdir()
    records = [
        {"_id": f"d{i}", "title": " ".join(draw.sample(WORDS, 2)), "text": " ".join(draw.choices(WORDS, k=40))}
        for i in range(60)
    ]
    queries = [
        {
            "_id": f"q{i}",
            "text": " ".join([*draw.sample(records[i]["text"].split(), 4), *draw.sample(WORDS, 4)]),
            "metadata": {"class": "even" if i % 2 == 0 else "odd"},
        }
        for i in range(40)
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    judged = "".join(f"q{i}\td{i}\t1\n" for i in range(40))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder
