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
