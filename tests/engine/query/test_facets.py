"""Facets count what was found: the candidates that filters, operators and visibility let through."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from watersmeet import Engine
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.query.multi_index import MultiIndex
from watersmeet.engine.settings.settings import load
from watersmeet.face.search import SearchParams, run_search

NOW = datetime(2026, 6, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("facets")
    for name in ("notes", "guides"):
        (folder / name).mkdir()
    for n in range(30):
        tags, end = "[water, tide]" if n % 2 else "[water]", " in vain" if n < 5 else ""
        (folder / "notes" / f"{n:02}.md").write_text(
            f"---\ntags: {tags}\nupdated: 2026-{1 + n % 6:02}-28\n---\n# Note {n}\n\nThe heron waits{end}.\n"
        )
    (folder / "guides" / "a.md").write_text("# Guide\n\nA heron in a guide. #bird\n")
    (folder / "guides" / "b.py").write_text("def heron():\n    '''A heron in code.'''\n")
    (folder / "guides" / "c.md").write_text("---\n'@audience': ['user:ada']\ntags: [secret]\n---\nA hidden heron.\n")
    for path in (folder / "guides").iterdir():
        os.utime(path, (0, datetime(2020, 1, 1, tzinfo=UTC).timestamp()))
    with Engine(folder / "index", load(start=str(folder))) as made:
        made.sync([folder / "notes"], collection="notes", vectors=False)
        made.sync([folder / "guides"], collection="guides", vectors=False)
        yield made


def counts(engine: Engine, query: str = "heron", **options: object) -> dict[str, dict[str, int]]:
    facets = engine.search(query, facets=True, now=NOW, **options).facets
    assert facets is not None
    found: dict[str, dict[str, int]] = {}
    for key, value, documents in facets.counts:
        found.setdefault(key, {})[value] = documents
    return found


def test_all_that_was_found_is_counted_and_not_what_is_listed(engine: Engine) -> None:
    found = counts(engine, top_n=1)
    assert found["kind"] == {"document": 32, "code": 1}
    assert found["collection"] == {"notes": 30, "guides": 3}
    assert found["tag"] == {"water": 30, "tide": 15, "bird": 1, "secret": 1}
    assert found["since"] == {"7d": 5, "1m": 5, "1y": 30}


def test_they_are_of_the_filters_the_operators_and_the_viewer(engine: Engine) -> None:
    assert counts(engine, filters={"tag": ["tide"]})["tag"] == {"water": 15, "tide": 15}
    assert counts(engine, '"in vain"')["kind"] == {"document": 5}
    assert sum(counts(engine, "heron -vain")["kind"].values()) == 28
    hidden = counts(engine, viewer=EVERYONE)
    assert "secret" not in hidden["tag"]
    assert hidden["collection"] == {"notes": 30, "guides": 2}


def test_they_are_counted_on_request_only(engine: Engine) -> None:
    assert engine.search("heron").facets is None
    assert "facets" not in run_search(engine, SearchParams("heron")).to_json()
    told = run_search(engine, SearchParams("heron", facets=True)).to_json()["facets"]
    assert told["documents"] == 33
    assert {"key": "tag", "value": "tide", "documents": 15} in told["counts"]


def test_those_of_several_indexes_are_added(engine: Engine) -> None:
    facets = MultiIndex([engine, engine]).search("heron", facets=True).facets
    assert facets is not None
    assert facets.documents == 66
    assert ("tag", "tide", 30) in facets.counts
