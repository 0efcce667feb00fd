"""Real packages from the registries that pip and npm use here, searched by questions that their documentation answers.

    python benchmarks/packages.py [--dense]

All packages are in one index. Each question is asked about its package (a filter), and again among all packages, where
some of them are ambiguous: two packages print help. Then two versions of one package, side by side. The questions and
the names of the right documents (packages.json) were written before any result was looked at, and not changed after;
no text of a package is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import keep, machine

from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.face.search import SearchParams, run_search

QUESTIONS = Path(__file__).with_suffix(".json")
OTHER_VERSION = "pypi:click@7.x"
RANGES = ("7.x", "8.x", "^8", "<8", "latest")
FIRST = 3
"""A question is answered if the right document is one of so many."""

Questions = dict[str, list[dict[str, Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dense", action="store_true", help="with the transformer's vectors")
    dense = parser.parse_args().dense
    questions: Questions = json.loads(QUESTIONS.read_text("utf8"))
    with (
        tempfile.TemporaryDirectory(prefix="watersmeet-packages-") as folder,
        Engine(Path(folder) / "index", load(start=folder)) as engine,
    ):
        figures = measured(engine, questions, dense)
    keep("packages_dense" if dense else "packages", {"machine": machine(), **figures})
    print(json.dumps({key: value for key, value in figures.items() if key != "questions"}, indent=1))
    sys.exit(0 if figures["right"] == figures["asked"] else 1)


def measured(engine: Engine, questions: Questions, dense: bool) -> dict[str, Any]:
    first = engine.sync(list(questions), deepen=dense)
    again = engine.sync(deepen=dense)
    answers = [one for package, asked in questions.items() for one in answered(engine, package, asked)]
    versions = side_by_side(engine, dense)
    return {
        "asked": len(answers),
        "right": sum(one["rank"] is not None for one in answers),
        "first": sum(one["rank"] == 1 for one in answers),
        "right_among_all": sum(one["rank_among_all"] is not None for one in answers),
        "first_among_all": sum(one["rank_among_all"] == 1 for one in answers),
        "by_package": {
            package: f"{sum(one['rank'] is not None for one in answers if one['package'] == package)} of {len(asked)}"
            for package, asked in questions.items()
        },
        "documents": first.documents,
        "chunks": first.chunks,
        "skipped": len(first.skipped),
        "sync_seconds": round(first.took_ms / 1000, 1),
        "again": {"seconds": round(again.took_ms / 1000, 2), "unchanged": again.unchanged, "added": again.added},
        "versions": versions,
        "questions": answers,
    }


def answered(engine: Engine, package: str, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rank of the first right document, if it is one of the first three documents."""
    made = []
    for one in questions:
        right = {f"{package}/{name}" for name in one["right"]}
        ranks = {}
        for name, filters in (("rank", {"release": package}), ("rank_among_all", {})):
            results = engine.search(one["question"], filters=filters, top_n=20).results
            documents = list(dict.fromkeys(result.path for result in results))[:FIRST]
            ranks[name] = next((rank for rank, path in enumerate(documents, 1) if path in right), None)
        made.append({"package": package, "question": one["question"], **ranks})
    return made


def side_by_side(engine: Engine, dense: bool) -> dict[str, Any]:
    """Which version each search answers from."""
    engine.sync([OTHER_VERSION], deepen=dense)
    found = {}
    for version in RANGES:
        params = SearchParams("shell completion", version=version, filters={"package": ["click"]})
        reply = run_search(engine, params)
        releases = sorted({result.path.partition("/")[0] for result in reply.answer.results})
        found[version] = {"resolved": reply.to_json()["version"]["resolved"], "answers_from": releases}
    return found


if __name__ == "__main__":
    main()
