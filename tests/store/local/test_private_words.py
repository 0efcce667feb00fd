from __future__ import annotations

import pytest

from watersmeet.core.model import ANY
from watersmeet.core.ports import Term
from watersmeet.core.visibility import AUDIENCE_GATE
from watersmeet.store.local.private_words import PrivateWords
from watersmeet.testing.contracts.corpus import ADA, EVERYONES, OPS, chunk_of, page, visible_to

ZEPPELIN = Term("body", "zeppelin")


@pytest.fixture
def snapshot(harbour):
    with harbour.index.snapshot() as snapshot:
        yield snapshot


def private_words(snapshot, condition) -> PrivateWords:
    return PrivateWords(snapshot, condition, snapshot.text())


def test_only_private_rows_that_the_viewer_sees(snapshot) -> None:
    assert private_words(snapshot, EVERYONES).size == 0
    (row,) = snapshot.rows([chunk_of("private/ada.md")]).values()
    hers = private_words(snapshot, visible_to(ADA))
    assert (hers.size, list(hers.scores([ZEPPELIN]))) == (1, [row])
    assert private_words(snapshot, visible_to(OPS)).frequency("body", "zeppelin") == 1
    assert private_words(snapshot, ANY).frequency("body", "zeppelin") == 2


def test_no_word_no_row_no_score(snapshot) -> None:
    hers = private_words(snapshot, visible_to(ADA))
    assert hers.scores([]) == hers.scores([Term("body", "zyzzyva")]) == hers.scores([Term("body", "the")]) == {}


def test_a_constant_term_scores_its_boost_and_a_boost_multiplies(snapshot) -> None:
    hers = private_words(snapshot, visible_to(ADA))
    assert list(hers.scores([Term("body", "zeppelin", 0.25, constant=True)]).values()) == [0.25]
    (once,), (twice,) = (hers.scores([Term("body", "zeppelin", boost)]).values() for boost in (1.0, 2.0))
    assert twice == pytest.approx(2 * once)


def test_a_public_word_weighs_what_it_weighs_in_all_that_is_seen(snapshot) -> None:
    hers = private_words(snapshot, visible_to(ADA))
    (common,) = hers.reweighted([Term("body", "harbour")])
    (rare,) = hers.reweighted([Term("body", "firewall")])
    assert common.boost < 1 < rare.boost  # one more row has the first, and one more row lacks the second
    assert hers.reweighted([ZEPPELIN, Term("body", "harbour", constant=True)]) == [
        ZEPPELIN,
        Term("body", "harbour", constant=True),
    ]


def test_private_rows_score_as_if_all_were_in_one_store(local, tmp_path) -> None:
    texts = {"a.md": "A zeppelin over the sea.", "b.md": "The zeppelin and the zeppelin.", "c.md": "Stones."}
    plain = local(*(page(name, ((), text)) for name, text in texts.items()))
    with plain.index.snapshot() as snapshot:
        expected = dict(snapshot.words(ANY).match([ZEPPELIN], ANY, 9))
    plain.put([page("b.md", ((), texts["b.md"]), fields={AUDIENCE_GATE: ["user:ada"]})])
    with plain.index.snapshot() as snapshot:
        found = dict(snapshot.words(visible_to(ADA)).match([ZEPPELIN], visible_to(ADA), 9))
        assert found.keys() == expected.keys()
        assert max(found, key=found.__getitem__) == max(expected, key=expected.__getitem__)
        assert found == pytest.approx(expected, rel=0.05)  # lengths are compared with the average of public rows


def test_a_private_row_with_the_same_words_has_the_same_score(local) -> None:
    text = "A zeppelin over the sea. " + "Sand and stones lie on the shore of the bay. " * 9
    given = [page("b.md", ((), text)), page("c.md", ((), "Stones lie here.")), page("d.md", ((), "A zeppelin."))]
    given.append(page("a.md", ((), text), fields={AUDIENCE_GATE: ["user:ada"]}))
    with local(*given).index.snapshot() as snapshot:
        words, hers = snapshot.words(visible_to(ADA)), visible_to(ADA)
        query = [ZEPPELIN, Term("body", "stones"), Term("title", "zeppelin", 0.3)]
        found = dict(words.match(query, hers, 9))
        public, private = given[0].chunks[0].id, given[3].chunks[0].id
        assert found[public] == found[private]
        assert words.score(query, found) == found
