"""From a name to a component, without reading or importing more than is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from watersmeet import store
from watersmeet.core import names as link_names
from watersmeet.core.errors import ConfigError, UnknownComponent
from watersmeet.engine.components import PLUGIN_KINDS, build, exists, find, is_built_in, names
from watersmeet.engine.sync.parsers import endings, readers

INDEX = """
from dataclasses import dataclass
from watersmeet.core.options import option

@dataclass(frozen=True)
class Memory:
    place: str
    size: int = option(1, "how much it holds")
"""
HELPERS = {"store": {"catalogue", "view", "live", "near"}, "record": {"written"}}


@pytest.mark.parametrize("kind", [kind for kind in PLUGIN_KINDS if kind != "index"])
def test_components_are_listed_and_helpers_are_not(kind: str) -> None:
    listed = names(kind)
    assert listed == sorted(listed) != []
    assert not HELPERS.get(kind, set()) & set(listed)
    assert not [name for name in listed if name.startswith("_")]
    assert all(is_built_in(kind, name) and exists(kind, name) for name in listed)


def test_text_stores_and_those_beside_them() -> None:
    assert names("store") == ["embeddings", "fts5", "postings", "tantivy", "vectors"]


@pytest.mark.parametrize("name", ["nothing", "_tree", "", "a.b", "../x", "view", "rrf "])
@pytest.mark.parametrize("kind", ["store", "index", "fusion", "chunk"])
def test_what_is_no_component_is_refused(kind: str, name: str) -> None:
    assert not exists(kind, name)
    with pytest.raises(UnknownComponent, match=f"no {kind} called"):
        find(kind, name)


def test_an_index_is_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("memory", INDEX), ("helpers", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / ("index.py" if text else "other.py")).write_text(text)
    monkeypatch.setattr(store, "__path__", [*store.__path__, str(tmp_path)])
    for called in ("memory", "memory.index", "helpers"):
        monkeypatch.setitem(sys.modules, f"watersmeet.store.{called}", None)  # as it was, afterwards
        del sys.modules[f"watersmeet.store.{called}"]
    assert "memory" in names("index")
    assert "helpers" not in names("index")
    assert build("index", "memory", {"size": 3}, place="here") == find("index", "memory")("here", 3)
    with pytest.raises(UnknownComponent):
        find("index", "helpers")


def test_to_ask_for_a_name_imports_nothing_of_it() -> None:
    script = (
        "import sys; from watersmeet.engine.components import exists\n"
        "assert exists('embed', 'onnx') and exists('stage', 'recency') and exists('parse', 'markdown')\n"
        "begin = ('watersmeet.embed.', 'watersmeet.stage.', 'watersmeet.parse.')\n"
        "print([name for name in sys.modules if name.startswith(begin)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_a_component_needs_and_nobody_gives_is_named() -> None:
    with pytest.raises(ConfigError, match="source 'folder' needs endings"):
        build("source", "folder", {})


def test_parsers_say_what_they_read() -> None:
    assert {".jsonl", ".markdown", ".md", ".mdx", ".txt"} <= set(endings())
    assert set(readers().values()) == set(
        "asciidoc code commit csv email filename html json jsonl markdown mbox notebook office org pdf python_api "
        "rst text yaml".split()
    )
    assert readers()["text/markdown"] == readers()[".mdx"] == "markdown"
    taken: dict[str, str] = {}
    for name in names("parse"):
        reads = find("parse", name).reads
        assert all(form == form.lower() and not ("/" in form and form.startswith(".")) for form in reads)
        assert [form for form in reads if form in taken] == []
        taken |= dict.fromkeys(reads, name)


def test_links_leave_out_the_endings_of_pages() -> None:
    """A parser of ours whose files are pages has its endings in the names that links go by, too."""
    pages = ("markdown", "rst", "asciidoc", "org", "notebook", "html")
    forms = {form for form, name in readers().items() if name in pages and form.startswith(".")}
    assert {".txt", *forms} <= set(link_names._ENDINGS)


def test_models_say_what_they_are() -> None:
    models = {name: find("embed", name) for name in names("embed") if name != "crossencoder"}
    assert [name for name, model in models.items() if model.remote] == ["bedrock", "ollama", "openai"]
    assert [name for name, model in models.items() if model.quick] == ["static", "terms"]
