"""Contract suites: pytest classes that test an implementation of a port; subclass them to test your own.

    from watersmeet.testing.contracts.words import WordsContract

    class TestWords(WordsContract):
        @classmethod
        def made(cls, folder):
            return my_index(folder)  # a context manager that gives a `Filling`

`index`, `documents`, `words`, `vectors`, `links` and `entities` are the suites of an index, which all take a `Filling`
(`corpus`); `records` tests registry records; `source`, `parser` and `embedder` test the parts that feed an index,
`chat` tests a chat model.
Only these modules need pytest.
"""

from __future__ import annotations

import pytest

OF_AN_INDEX = ("index", "documents", "words", "vectors", "links", "entities")
OTHERS = ("records", "source", "parser", "embedder", "chat")

# so that a failed assertion shows its values
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in (*OF_AN_INDEX, *OTHERS)))
