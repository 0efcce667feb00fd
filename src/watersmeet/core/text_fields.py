"""Text fields of a chunk for the text store, and the hashes that detect changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core import tokens
from watersmeet.core.definitions import definition_forms
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.names import CODE, CUSTOM, is_page

if TYPE_CHECKING:
    from watersmeet.core.documents import Chunk, Document


def breadcrumb(title: str, headings: Sequence[str]) -> str:
    """Breadcrumb: title > heading path, without repeating the title."""
    path = [heading for heading in headings if heading]
    return " > ".join(path if path and path[0] == title else [title, *path] if title else path)


def embedded_text(title: str, headings: Sequence[str], text: str) -> str:
    """The text of a chunk as models embed it."""
    return f"{breadcrumb(title, headings)}\n{text}"


FORM = "2"
"""Version of what is indexed of a document; in an index with an earlier one, the documents concerned are read again."""
DESCRIPTIVE = frozenset({"description", "summary", "keywords", "keyword", "author", "authors"})
"""Front matter and metadata fields whose words find a document, though they are in no text of it."""
MAX_DESCRIPTION = 4_000
"""Characters of these fields that are indexed."""


def description(fields: Mapping[str, Any]) -> str:
    """Texts of the descriptive fields. Those of a registry entity are in its record, and its text has them."""
    if isinstance(fields.get("record"), dict):
        return ""
    texts = [text for key, value in fields.items() if key.casefold() in DESCRIPTIVE for text in _texts(value)]
    return "\n".join(texts)[:MAX_DESCRIPTION] if texts else ""


def _texts(value: Any) -> Iterator[str]:
    """A text, the texts of a list, or the name of each person who is written as a mapping."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item.get("name") if isinstance(item, dict) else item)
    elif isinstance(value, dict):
        yield from _texts(value.get("name"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A chunk with the tokens of each field, ready for a text store."""

    chunk: Chunk
    fields: dict[str, str]
    hash: bytes


def prepare(document: Document, chunks: Sequence[Chunk], also: str = "") -> list[Prepared]:
    """Chunks with their fields. `also` is extra text, indexed with the first chunk and never shown; so are the
    descriptive fields of the document."""
    described = "" if document.kind.startswith(CUSTOM) else description(document.fields)  # a declared type says itself
    also = "\n".join(filter(None, (also, described)))
    title, title_forms = tokens.joined(document.title)
    stem = document.id.rsplit("/", 1)[-1].rsplit(".", 1)[0] if is_page(document.id) else ""
    names, _ = tokens.joined("\n".join((stem, *document.aliases)))
    tags, _ = tokens.joined("\n".join(document.tags))
    prepared: list[Prepared] = []
    for chunk in chunks:
        path = breadcrumb(document.title, chunk.headings)
        headings, crumb_forms = tokens.joined("\n".join(chunk.headings))
        crumb = headings
        if path != " > ".join(filter(None, chunk.headings)):  # the title stands before them
            crumb = " ".join(filter(None, (title, headings)))
            crumb_forms = list(dict.fromkeys(title_forms + crumb_forms))
        words, forms = tokens.joined(chunk.text if prepared or not also else f"{chunk.text}\n{also}")
        forms += definition_forms(chunk.headings) if document.kind == CODE else tokens.family_forms(path)
        fields = {
            "body": f"{crumb} {words}" if crumb and words else crumb or words,
            "title": title,
            "headings": headings,
            "names": names,
            "tags": tags,
            "forms": " ".join(crumb_forms + forms),
        }
        prepared.append(Prepared(chunk, fields, digest("\0".join(fields.values()), chunk.text)))
    return prepared


def document_hash(document: Document, prepared: Sequence[Prepared]) -> bytes:
    """Hash of everything in a document that affects search, filters or display."""
    hashed: list[Any] = [document.title, document.kind, document.tags, document.aliases, document.fields]
    hashed.append([(link.target, link.type, link.heading, link.alias) for link in document.links])
    hashed.append([(p.chunk.headings, p.hash.hex()) for p in prepared])
    return digest(json.dumps(hashed, default=str))


def digest(*parts: str | bytes) -> bytes:
    return digest_of(parts)


def digest_of(parts: Iterable[str | bytes]) -> bytes:
    import hashlib  # lazy: a search reads fields and hashes nothing

    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(part if isinstance(part, bytes) else part.encode("utf8", "surrogatepass"))
    return state.digest()
