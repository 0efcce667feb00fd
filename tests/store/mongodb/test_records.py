"""Registry records in MongoDB: the contract, over the server's own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import mongodb_server
import pytest

from watersmeet.store.mongodb.records import Mongodb
from watersmeet.testing.contracts.records import RecordsContract

pytestmark = pytest.mark.server
_numbers = count(1)


@pytest.fixture
def uri() -> str:
    if mongodb_server.missing():
        pytest.skip(mongodb_server.NOT_RUN)
    return mongodb_server.running().uri


@pytest.fixture
def records(uri: str) -> Iterator[Mongodb]:
    with closing(Mongodb(uri=uri, database=f"records{next(_numbers)}")) as made:
        yield made


class TestContract(RecordsContract):
    pass
