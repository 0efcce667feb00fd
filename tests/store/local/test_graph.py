"""Links read for many documents at once are the links that each has by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.store.local import graph
from watersmeet.store.local._links import resolved
from watersmeet.store.local.graph import LiveLinks

names = st.sampled_from(["a", "b", "x/a", "x/b", "x/y/a", "y/b", "y/readme", "x/readme", "x/index"])
targets = st.sampled_from(["a", "b", "readme", "x", "y/b", "x/a", "../b", "nowhere", "y/a", "index"])
vaults = st.dictionaries(names, st.lists(targets, max_size=4), min_size=1, max_size=8)


def put(folder: Path, vault: dict[str, list[str]]) -> None:
    for path in sorted(folder.rglob("*.md")):
        path.unlink()
    for name, links in vault.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        wiki = " ".join(f"[[{target}]]" for target in links[::2])
        path.write_text(f"# {name}\n\n{wiki}\n" + " ".join(f"[t]({target}.md)" for target in links[1::2]))


ALL = (
    "SELECT s.name, t.name, l.type, l.key, n.rank FROM links l JOIN documents s ON s.id = l.document"
    " JOIN names n ON n.key = l.key JOIN documents t ON t.id = n.document WHERE s.id <> t.id"
)
"""Every link with every document that it may mean."""


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(vault=vaults)
def test_each_link_leads_where_it_leads_by_itself(engine: Engine, write, vault: dict[str, list[str]]) -> None:
    folder = write({})
    folder.mkdir(exist_ok=True)
    put(folder, vault)
    engine.sync([folder])
    documents = [f"{name}.md" for name in vault]
    with engine.snapshot() as view:
        links = LiveLinks(view)
        everything = resolved(view.query(ALL))
        together = links.edges(documents)
        assert set(together) == set(documents)
        for document in documents:
            expected = sorted(edge for edge in everything if document in edge[:2])
            assert sorted(map(tuple, together[document] or ())) == expected
            assert sorted(map(tuple, LiveLinks(view).edges([document])[document] or ())) == expected
        assert links.edges(documents) == together


def test_a_list_of_everything_is_not_read(engine: Engine, write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MAX_LINKS", 5)
    pages = {f"{n}.md": f"# {n}\n\n[[hub]]\n" for n in range(4)}
    engine.sync([write({**pages, "hub.md": "# Hub\n\n[[0]] [[1]] [[2]] [[3]]\n"})])
    with engine.snapshot() as view:
        links = LiveLinks(view).edges(["hub.md", "0.md", "none.md"])
    assert links["hub.md"] is None
    assert links["none.md"] is None
    assert sorted(map(str, links["0.md"] or ())) == ["0.md -> hub.md (wiki)", "hub.md -> 0.md (wiki)"]
