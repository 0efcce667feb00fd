"""Parser and chunker output for one file, without an index."""

from __future__ import annotations

from typing import Any

from watersmeet.core.documents import Document
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Skipped
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.formats import Formats, install_hint
from watersmeet.engine.sync.parsers import formats_hint, parse_safely
from watersmeet.engine.sync.sources import Sources


def inspect(path: str, settings: Settings) -> dict[str, Any]:
    sources = Sources(settings)
    kind, place = sources.locate(path)
    found = place.only
    if found is None:
        raise SourceProblem(f"{path} is not a file", f"name a file; {formats_hint()}")
    if isinstance(found, Skipped):
        raise SourceProblem(f"{found.path}: {found.reason}")
    content = sources.of(kind).read(found)
    if isinstance(content, Skipped):
        raise SourceProblem(f"{content.path}: {content.reason}")
    warnings = []
    documents = []
    with Formats(settings) as formats:
        format = formats.of(found)
        if format is None:
            raise SourceProblem(f"no parser reads {path}", f"name a file; {formats_hint()}")
        if format.missing:
            raise SourceProblem(f"{path}: {', '.join(format.missing)} is not installed", install_hint(format.extra))
        for parsed in parse_safely(format.parser.parse(found, content), lambda reason: Skipped(found.uri, reason)):
            if isinstance(parsed, Document):
                documents.append(parsed)
            else:
                warnings.append(f"{parsed.path}: {parsed.reason}")
    if not documents:
        raise SourceProblem("; ".join(warnings) or f"{path} holds no document")
    document = documents[0]
    if len(documents) > 1:
        warnings.append(f"the first of {len(documents)} documents is shown")
    chunks = format.chunker.split(document)
    return {
        "title": document.title,
        "headings": [
            {"level": s.level, "text": s.headings[-1], "where": s.place.where, "line": s.line}
            for s in document.sections
            if s.level
        ],
        "links": [{"target": k.target, "heading": k.heading, "alias": k.alias, "type": k.type} for k in document.links],
        "tags": list(document.tags),
        "front_matter": dict(document.fields),
        "chunks": [{"id": c.id, "headings": list(c.headings), **c.place.to_json(), "text": c.text} for c in chunks],
        "warnings": [*document.warnings, *warnings],
    }
