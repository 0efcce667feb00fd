from __future__ import annotations

import pytest

from watersmeet.core.facets import facets_of
from watersmeet.testing import Hashed
from watersmeet.testing.conditions import Facts, satisfies
from watersmeet.testing.contracts.corpus import CASES, HANDBOOK, HARBOUR, Case


def test_the_double_is_deterministic_and_tells_texts_apart() -> None:
    near = Hashed(64).embed(["sign in with your passphrase", "sign in with a passphrase", "rotate the journal"])
    assert (
        near == Hashed(64).embed(["sign in with your passphrase", "sign in with a passphrase", "rotate the journal"])
    ).all()
    assert near[0] @ near[1] > near[0] @ near[2]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_condition_means(case: Case) -> None:
    passing = set()
    for given in HARBOUR:
        document, metadata = given.document, HANDBOOK if given.collection == "handbook" else {}
        facets = frozenset(facets_of(document))
        facts = Facts(document.id, document.kind, given.collection, metadata, facets, document.modified)
        passing |= {document.id} if satisfies(facts, case.condition) else set()
    assert passing == case.passes
