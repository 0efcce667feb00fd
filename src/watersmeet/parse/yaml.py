"""YAML files, also of several documents: OpenAPI and JSON Schema by what they describe, other data by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.limits import LimitExceeded
from watersmeet.core.options import option

_MAX_DOCUMENTS = 1_000
_MAX_WRITTEN = 1_000_000
"""Values of a file, aliases written out; one with more is refused before it is loaded."""


@dataclass(frozen=True, slots=True)
class Yaml(ParserOptions):
    """A parser of YAML, one document a file. Lock files are not read, long lists of numbers are cut."""

    reads: ClassVar[tuple[str, ...]] = ("application/yaml", "text/yaml", "application/x-yaml", ".yaml", ".yml")

    max_values: int = option(20_000, "values of a file that are read", least=1)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        from watersmeet.common.safe_yaml import NotYaml, read_written_yaml
        from watersmeet.parse._tree import as_text, decoded, document

        text, warnings, refusal = decoded(found, content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        try:
            values = read_written_yaml(text, _MAX_WRITTEN, _MAX_DOCUMENTS + 1)
        except LimitExceeded as problem:
            yield Skipped(found.uri, str(problem))
        except NotYaml as problem:
            reason = f"not valid YAML: {problem}" + (f" (line {problem.line})" if problem.line else "")
            yield as_text(found, text, reason, warnings)
        else:
            if len(values) > _MAX_DOCUMENTS:
                warnings = (*warnings, f"more than {_MAX_DOCUMENTS:,} documents; the others are left out")
            yield document(found, text, values[:_MAX_DOCUMENTS], self.max_values, warnings)
