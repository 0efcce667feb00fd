"""Lists of documents and tags, with filters, on the command line and over REST."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.core.visibility import Viewer
from watersmeet.engine.engine import Engine
from watersmeet.face.cli.documents import list_command
from watersmeet.face.cli.tags import tags_command
from watersmeet.face.listing import DocumentFilter, ListParams, TagParams
from watersmeet.face.shapes import ListQuery, TagQuery

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]
NOTES = {
    "bread.md": "---\ntags: [Food/Bread]\nstatus: done\n---\n# Bread\n\nA loaf.\n",
    "food.md": "# apples\n\nAn apple. #food\n",
    "rye.md": "# Rye\n\nRye. #food/bread/rye #food\n",
    "guides/oven.md": "# Oven\n\nAn oven. #kitchen\n",
    "plain.txt": "No tags.\n",
}
MONTHS = {"bread.md": 3, "food.md": 5, "rye.md": 1, "guides/oven.md": 2, "plain.txt": 1}
"""When each was changed last."""


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        changed = datetime(2026, MONTHS[name], 1, 12, tzinfo=UTC).timestamp()
        os.utime(folder / name, (changed, changed))
    with Engine(folder / ".watersmeet") as engine:
        engine.sync([folder], collection="home", vectors=False)
    return folder


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ([], ["bread.md", "food.md", "guides/oven.md", "plain.txt", "rye.md"]),
        (["guides/**"], ["guides/oven.md"]),
        (["*.txt"], ["plain.txt"]),
        (["--tag", "food"], ["bread.md", "food.md", "rye.md"]),
        (["--tag", "food/bread"], ["bread.md", "rye.md"]),
        (["--tag", "food", "--filter", "status!=done"], ["food.md", "rye.md"]),
        (["--filter", "status=DONE"], ["bread.md"]),
        (["--kind", "document", "--collection", "Home", "*.txt"], ["plain.txt"]),
        (["*.md", "--since", "2026-02-01", "--before", "2026-05-01"], ["bread.md", "guides/oven.md"]),
        (["*.md", "--sort", "modified"], ["food.md", "bread.md", "guides/oven.md", "rye.md"]),
        (["*.md", "--sort", "title"], ["food.md", "bread.md", "guides/oven.md", "rye.md"]),
        (["-n", "2"], ["bread.md", "food.md"]),
        (["*.md", "--sort", "modified", "--limit", "1"], ["food.md"]),
    ],
)
def test_documents_that_pass_the_filters(ask: Ask, kitchen: Path, flags: list[str], found: list[str]) -> None:
    listed = ask("list", *flags, cwd=kitchen)["documents"]
    assert [one["document"] for one in listed] == found
    assert set(listed[0]) == {"document", "kind", "title", "modified", "chunks"}


def test_no_such_documents(run: Run, kitchen: Path) -> None:
    done = run("list", "--tag", "fud", cwd=kitchen)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no document has the tag 'fud'" in done.stderr
    assert run("list", "none/**", "--json", cwd=kitchen).returncode == 1
    bad = run("list", "--sort", "sise", cwd=kitchen)
    assert (bad.returncode, "'sise'" in bad.stderr) == (2, True)
    cut = run("list", "-n", "2", cwd=kitchen)
    assert cut.stderr == "2 of 5 documents\n"


def test_a_tag_counts_the_documents_that_it_finds(ask: Ask, kitchen: Path) -> None:
    tags = ask("tags", cwd=kitchen)["tags"]
    assert [(one["tag"], one["documents"]) for one in tags] == [
        ("food", 3),
        ("food/bread", 2),
        ("food/bread/rye", 1),
        ("kitchen", 1),
    ]
    for one in tags:
        assert len(ask("list", "--tag", one["tag"], cwd=kitchen)["documents"]) == one["documents"]


def test_tags_by_prefix_and_filters(run: Run, ask: Ask, kitchen: Path) -> None:
    assert [one["tag"] for one in ask("tags", "FOOD/", cwd=kitchen)["tags"]] == ["food/bread", "food/bread/rye"]
    assert [one["tag"] for one in ask("tags", "--filter", "path=guides/**", cwd=kitchen)["tags"]] == ["kitchen"]
    assert run("tags", "--since", "2026-04-01", cwd=kitchen).stdout == "food\t1\n"
    none = run("tags", "zebra", cwd=kitchen)
    assert (none.returncode, none.stdout, none.stderr) == (1, "", "no tags of such documents\n")
    assert ask("tags", "zebra", cwd=kitchen, code=1)["tags"] == []


def test_the_tags_of_a_collection_count_for_its_documents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.md").write_text("# One\n\nText. #food\n")
    with Engine(tmp_path / "index") as engine:
        engine.sync([tmp_path / "a"], collection="work", meta={"tag": "Food/Stock"}, vectors=False)
        assert engine.tags() == [{"tag": "food", "documents": 1}, {"tag": "food/stock", "documents": 1}]
        assert len(engine.documents(filters={"tag": "food/stock"})) == 1


def test_a_list_shows_what_a_viewer_may_see(tmp_path: Path) -> None:
    with Engine(tmp_path / "index") as engine:
        record = {"path": "/secret", "name": "secret", "description": "x", "tags": ["hidden"], "tools": []}
        engine.registry.register([record | {"visibility": "private", "owner": "ada"}])
        engine.registry.register([record | {"path": "/open", "tags": ["seen/by-all"]}])
        everyone, ada = Viewer(), Viewer(user="ada")
        assert [one["tag"] for one in engine.tags(everyone)] == ["seen", "seen/by-all"]
        assert "hidden" in [one["tag"] for one in engine.tags(ada)]
        assert [one["document"] for one in engine.documents(everyone, filters={"tag": "hidden"})] == []
        assert [one["document"] for one in engine.documents(everyone, filters={"tag": "seen"})] == ["/open"]


def test_options_of_the_engine(kitchen: Path) -> None:
    with Engine(kitchen / ".watersmeet") as engine:
        assert len(engine.documents(filters=["tag=food"], since="2026-02-15")) == 2
        assert len(engine.documents(exclude="food.md")) == 4
        with pytest.raises(ConfigError, match="no option 'filter'"):
            engine.documents(filter="tag=food")
        with pytest.raises(ConfigError, match="sorted by 'size'"):
            engine.documents(sort="size")


@pytest.mark.parametrize(
    ("params", "command", "model"), [(ListParams, list_command, ListQuery), (TagParams, tags_command, TagQuery)]
)
def test_filters_are_declared_once(params: type[DocumentFilter], command: Any, model: Any) -> None:
    flags = {one.name: one for one in command.params}
    for name, one in params.__dataclass_fields__.items():
        assert name in flags
        assert model.model_fields[name].description == one.metadata["meaning"]
    assert json.dumps(model.model_json_schema())
