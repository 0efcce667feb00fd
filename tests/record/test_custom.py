"""Records of types that the settings declare."""

from __future__ import annotations

from typing import Any

import pytest

from published import AGENT, BEIR, CARD, OFFICIAL
from watersmeet.core.entities import Entity, Refused
from watersmeet.core.entity_types import EntityType
from watersmeet.core.record_format import Origin
from watersmeet.record.custom import Custom

DATASET = EntityType("dataset", title="dataset_name", fields={"summary": "semantic", "licence": "keyword"})
TIDES = {"entity_type": "Dataset", "dataset_name": "Tide tables", "summary": "Heights", "licence": "odbl", "rows": 9}


def read(value: dict[str, Any]) -> Any:
    (found,) = Custom().read(value, Origin("here", types={"dataset": DATASET}))
    return found


@pytest.mark.parametrize("value", [TIDES, {"kind": "robot", "path": "/r"}, {"entity_type": "robot"}])
def test_it_knows_its_own(value: Any) -> None:
    assert Custom().knows(value)


@pytest.mark.parametrize("value", [None, 3, [], {}, AGENT, CARD, OFFICIAL, BEIR, {"kind": "robot"}])
def test_it_knows_no_other(value: Any) -> None:
    assert not Custom().knows(value)


def test_fields_are_what_the_type_says() -> None:
    found = read(TIDES)
    assert isinstance(found, Entity)
    assert (found.kind, found.path, found.name) == ("dataset", "/dataset/tide-tables", "Tide tables")
    assert found.metadata == {"summary": "Heights", "licence": "odbl"}
    assert (found.fields, found.extra) == (DATASET.fields, {"rows": 9})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"entity_type": "datset", "name": "x"}, "did you mean 'dataset'"),
        ({"entity_type": "robot", "name": "x"}, "[registry.types.robot]"),
        ({"entity_type": "dataset"}, "name"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(value: dict[str, Any], reason: str) -> None:
    found = read(value)
    assert isinstance(found, Refused)
    assert reason in found.reason
