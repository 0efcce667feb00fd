"""Addresses of an index: what libpq gets of them, and what messages say."""

from __future__ import annotations

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.store.postgres.pool import Address, address_of


@pytest.mark.parametrize(
    ("place", "database", "shown"),
    [
        ("postgresql://u:s3@h/db?index=x&sslmode=require", "//u:s3@h/db?sslmode=require", "//h/db?index=x"),
        ("postgresql://u:s3@a:1,b:2/db", "//u:s3@a:1,b:2/db", "//a:1,b:2/db?index=main"),
        ("postgresql://u:s3@[::1]:5/db", "//u:s3@[::1]:5/db", "//[::1]:5/db?index=main"),
        ("postgresql://u:s3@h:99999/db", "//u:s3@h:99999/db", "//h:99999/db?index=main"),
        ("postgresql:///db?host=/run/p", "///db?host=%2Frun%2Fp", "//localhost/db?index=main"),
        ("postgresql://u:s3#x@h/db", "//u:s3%23x@h/db", "//h/db?index=main"),
    ],
)
def test_an_address_of_libpq_stays_as_it_is(place: str, database: str, shown: str) -> None:
    found = address_of(place)
    assert (found.database, found.shown) == (f"postgresql:{database}", f"postgresql:{shown}")
    assert address_of(found.text) == found
    assert address_of(found._replace(generation=4).text) == Address(found.database, found.name, 4)


@pytest.mark.parametrize("place", ["postgresql://u:s3/x@h/db", "postgresql://u:1/s3@h/db", "postgresql://u:s3"])
def test_what_may_be_a_password_is_not_shown(place: str) -> None:
    assert "s3" not in address_of(place).shown


@pytest.mark.parametrize(
    "place", ["postgresql://u:s3@[::1/db", "postgresql://u:s3@h/db?index=A", "postgresql://u:s3@h/d?generation=x"]
)
def test_an_address_that_cannot_be_read_is_named_without_its_password(place: str) -> None:
    with pytest.raises(ConfigError) as raised:
        address_of(place)
    assert raised.value.hint
    assert "s3" not in str(raised.value)
