"""Contract suites: what an implementation of a port must do, as classes of pytest tests that anyone can subclass.

    from watersmeet.testing.contracts.words import WordsContract

    class TestWords(WordsContract):
        @classmethod
        def made(cls, folder):
            return my_index(folder)  # a context manager that gives a `Filling`

`index`, `documents`, `words`, `vectors`, `links` and `entities` are the suites of an index, which all take a `Filling`
(`corpus`); `records` is that of a registry's records; `source`, `parser` and `embedder` those of what fills one.
pytest is needed by these modules, and by nothing else in the package.
"""

from __future__ import annotations

import pytest

OF_AN_INDEX = ("index", "documents", "words", "vectors", "links", "entities")
OTHERS = ("records", "source", "parser", "embedder")

# so that a failure shows what was found instead
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in (*OF_AN_INDEX, *OTHERS)))
