"""The contract of `Links`: link resolution among the visible documents."""

from __future__ import annotations

from watersmeet.core.documents import Link
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ANY, Condition, DocId
from watersmeet.core.ports import Edge
from watersmeet.testing.contracts._base import FilledContract
from watersmeet.testing.contracts.corpus import EVERYONES, Filling, chunk_of, page

SETUP, KEYS, INDEX, SONG = map(DocId, ("guides/setup.md", "guides/keys.md", "guides/index.md", "notes/song.md"))
IDEAS, PIANO, SECRET = map(DocId, ("notes/ideas.txt", "notes/keys.md", "private/ops.md"))


class LinksContract(FilledContract):
    def test_links_from_and_to_a_document(self, snapshot: Snapshot) -> None:
        found = snapshot.links(ANY).edges([SETUP, DocId("rust.md"), IDEAS])
        assert found[SETUP] == (
            Edge(INDEX, SETUP, "wiki"),
            Edge(KEYS, SETUP, "wiki"),
            Edge(SETUP, KEYS, "wiki"),
            Edge(SETUP, IDEAS, "markdown"),
            Edge(SONG, SETUP, "wiki"),
            Edge(SECRET, SETUP, "wiki"),
        )
        assert found[DocId("rust.md")] == ()
        assert found[IDEAS] == (Edge(SETUP, IDEAS, "markdown"),)

    def test_a_link_resolves_to_the_same_folder_first(self, snapshot: Snapshot) -> None:
        links = snapshot.links(ANY)
        assert links.edges([PIANO])[PIANO] == (Edge(SONG, PIANO, "wiki"),)
        assert Edge(INDEX, KEYS, "wiki") in (links.edges([INDEX])[INDEX] or ())

    def test_links_of_hidden_documents_are_left_out(self, snapshot: Snapshot) -> None:
        links = snapshot.links(EVERYONES)
        assert Edge(SECRET, SETUP, "wiki") not in (links.edges([SETUP])[SETUP] or ())
        assert links.degrees([SETUP]) == {SETUP: 3 + 4}
        assert snapshot.links(ANY).degrees([SETUP]) == {SETUP: 3 + 5}

    def test_degrees_count_outgoing_and_possible_incoming_links(self, snapshot: Snapshot) -> None:
        found = snapshot.links(ANY).degrees([PIANO, DocId("rust.md"), DocId("no.md")])
        assert found == {PIANO: 3, DocId("rust.md"): 0}  # three links say `keys`

    def test_a_link_never_resolves_to_a_hidden_document(self, filling: Filling) -> None:
        hidden = page("notes/plan.md", ((), "secret"), fields={"@audience": ["user:ada"]})
        open_one = page("other/plan.md", ((), "open"))
        filling.put([hidden, open_one, page("notes/a.md", ((), "see plan"), links=(Link("plan"),))])
        with filling.index.snapshot() as snapshot:
            a = DocId("notes/a.md")
            assert snapshot.links(ANY).edges([a])[a] == (Edge(a, DocId("notes/plan.md"), "wiki"),)
            assert snapshot.links(EVERYONES).edges([a])[a] == (Edge(a, DocId("other/plan.md"), "wiki"),)

    def test_a_document_with_too_many_links_has_no_edges(self, filling: Filling) -> None:
        pages = [page(f"p{n}.md", ((), "a page"), links=(Link("hub"),)) for n in range(1100)]
        filling.put([*pages, page("hub.md", ((), "a list"))])
        with filling.index.snapshot() as snapshot:
            hub, leaf = DocId("hub.md"), DocId("p7.md")
            links = snapshot.links(ANY)
            assert links.edges([hub, leaf]) == {hub: None, leaf: (Edge(leaf, hub, "wiki"),)}
            assert links.degrees([hub])[hub] > 1000
            every = links.edges([hub], whole=True)[hub]
            assert every is not None
            assert len(every) == len(pages)

    def test_first_chunks_of_documents(self, snapshot: Snapshot) -> None:
        links = snapshot.links(ANY)
        found = links.first_chunks([SETUP, SECRET, DocId("no.md")], ANY)
        assert found == {SETUP: chunk_of(SETUP), SECRET: chunk_of(SECRET)}
        assert links.first_chunks([SETUP, SECRET], EVERYONES) == {SETUP: chunk_of(SETUP)}
        assert links.first_chunks([SETUP, KEYS], Condition({"status": ("beta",)})) == {KEYS: chunk_of(KEYS)}
