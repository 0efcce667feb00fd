from __future__ import annotations

import pytest

from small_index import indexed
from watersmeet.core.entities import AGENT, KINDS, SERVER, Entity
from watersmeet.core.model import ANY, Plan
from watersmeet.core.ports import Entities
from watersmeet.core.rare_words import rare_mentions
from watersmeet.testing.contracts.corpus import registered


@pytest.fixture(scope="module")
def entities() -> Entities:
    servers = [Entity(SERVER, f"/s{n}", "Trips", "Rail" if n == 0 else "Buses") for n in range(4)]
    agent = Entity(AGENT, "/agent", "Clerk", "Trips by rail")
    return indexed([one for entity in (*servers, agent) for one in registered(entity)]).entities(ANY)


def test_words_that_few_entities_mention(entities: Entities) -> None:
    def counts(kinds: tuple[str, ...], share: float, always: int) -> dict[str, int]:
        found = rare_mentions(entities, Plan("a trip by rail and bus to Mars"), kinds, share, always)
        return {word: len(mentions) for word, mentions in found.items()}

    assert counts(KINDS, 0.0, 2) == {"rail": 2}
    assert counts((SERVER,), 0.0, 2) == {"rail": 1}
    assert counts(KINDS, 0.6, 0) == {"rail": 2, "bus": 3}
    assert counts(KINDS, 1.0, 0) == {"trip": 5, "rail": 2, "bus": 3}
    assert counts(KINDS, 0.0, 0) == {}
