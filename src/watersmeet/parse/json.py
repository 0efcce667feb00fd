"""JSON files: OpenAPI and JSON Schema by what they describe, other data by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class Json(ParserOptions):
    """A parser of JSON, one document a file. Lock files are not read, long lists of numbers are cut."""

    reads: ClassVar[tuple[str, ...]] = ("application/json", "application/schema+json", ".json")

    max_values: int = option(20_000, "values of a file that are read", least=1)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        import json

        from watersmeet.parse._tree import as_text, decoded, document

        text, warnings, refusal = decoded(found, content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        try:
            value = json.loads(text)
        except json.JSONDecodeError as problem:
            yield as_text(found, text, f"not valid JSON: {problem.msg} (line {problem.lineno})", warnings)
        except RecursionError:
            yield Skipped(found.uri, "nested too deeply")
        except ValueError:
            yield Skipped(found.uri, "not JSON: a number is too long")
        else:
            yield document(found, text, [value], self.max_values, warnings)
