from __future__ import annotations

import pytest

from watersmeet.core.tables import continues_table, table_header

TABLE = "| port | use |\n|---|:-:|\n| 7878 | web |\n| 7979 | api |"


@pytest.mark.parametrize(
    ("text", "header"),
    [
        (TABLE, "| port | use |\n|---|:-:|"),
        ("port | use\n--- | ---\n1 | 2", "port | use\n--- | ---"),
        ("| port | use |", ""),
        ("| port |\n| 7878 |", ""),
        ("Title\n-----\ntext", ""),  # a setext heading
        ("", ""),
    ],
)
def test_the_header_rows_of_a_table(text: str, header: str) -> None:
    assert table_header(text) == header


def test_a_table_goes_on_only_in_the_passage_after_it() -> None:
    header = table_header(TABLE)
    more = f"{header}\n| 8080 | old |"
    assert continues_table(f"Ports:\n\n{TABLE}", more) == header
    assert continues_table(f"{TABLE}\n\nThat was all.", more) == ""
    assert continues_table("| other | table |\n|---|---|\n| 1 | 2 |", more) == ""
