from __future__ import annotations

from collections.abc import Iterator

import pytest

from web import Site, running


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as made:
        yield made
