"""The text store in tantivy, the default: one commit point on disk, searches without the GIL."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from errno import EACCES, EDQUOT, EFBIG, ENOSPC, EROFS
from functools import cache, lru_cache
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from watersmeet.common.stems import LANGUAGE, stems
from watersmeet.core.errors import (
    ConfigError,
    DiskFull,
    IndexBusy,
    IndexDamaged,
    IndexMismatch,
    IndexProblem,
    NoIndex,
)
from watersmeet.core.files import can_write, make_private, tighten
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Row
from watersmeet.core.options import option
from watersmeet.core.ports import Term
from watersmeet.core.tokens import STOPWORDS
from watersmeet.store.local._file_checks import check_unmarked
from watersmeet.store.local._segments import META, note, sizes, verify
from watersmeet.store.local._text import (
    EXACT_FIELD,
    MAKE_ROOM,
    MAX_TOKEN_LENGTH,
    REBUILD,
    REMAKE_HINT,
    WORD_FIELDS,
    checked_field,
    disk_full,
    distinct,
    plain,
)

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    import tantivy

    from watersmeet.core.indexing import Entry

__all__ = ["EXACT_FIELD", "WORD_FIELDS", "Tantivy"]

MIN_HEAP_PER_THREAD, MAX_HEAP_PER_THREAD = 15_000_000, 4_000_000_000
"""tantivy's limits, in bytes."""

SMALL_SEGMENT, MERGE_COUNT = 10_000, 8
"""tantivy merges `MERGE_COUNT` segments of fewer than `SMALL_SEGMENT` rows into one. Each commit makes a segment, and
each is searched separately: seven of 4,000 rows take up to twice as long as one of 28,000."""

EXTRA_HITS = 8
"""Hits fetched beyond the limit, to see whether equal scores continue."""

MAX_EQUAL = 20_000
"""Hits fetched at most to order equal scores; beyond, any of them may be left out."""

COMMON_PREFIXES = ("co", "re", "s", "a", "")
"""Word prefixes that most texts have, to find any word without listing all."""

FEW_ROWS = 400
"""Up to so many rows, one term query per row is faster than a set query (100 rows: 0.5 against 1.7 ms)."""

DENSE_SHARE = 0.1
"""If `within` has at least this share of the rows between its first and last, a range query and filtering the hits is
faster than looking rows up. Rows written together are adjacent."""


class _OpenIndex:
    """The open tantivy index, and the reader of the last commit."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.index: tantivy.Index | None = None
        self.mirror: TemporaryDirectory[str] | None = None
        self.meta = b""
        self.latest: _Reader | None = None


@dataclass(frozen=True, slots=True)
class Tantivy:
    """The tantivy text store: a folder managed by tantivy."""

    folder: str
    heap_bytes: int = option(50_000_000, "memory for words not yet written; at least 15 MB for each thread")
    threads: int = option(1, "threads that index; more are quicker, cost memory and leave more files")
    _open: _OpenIndex = field(default_factory=_OpenIndex, init=False, repr=False, compare=False)

    of_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ConfigError(f"store.tantivy.threads cannot be {self.threads}", "it is 1 or more")
        minimum, maximum = MIN_HEAP_PER_THREAD * self.threads, MAX_HEAP_PER_THREAD * self.threads
        if not minimum <= self.heap_bytes <= maximum:
            threads = f" for {self.threads} threads" if self.threads > 1 else ""
            raise ConfigError(
                f"store.tantivy.heap_bytes cannot be {self.heap_bytes}", f"it is from {minimum} to {maximum}{threads}"
            )

    def writer(self) -> _Writer:
        """The writer, one at a time over all processes; the index is created if there is none."""
        with self._open.lock, _TranslatedErrors(self.folder):
            make_private(self.folder)
            writer = self._index().writer(self.heap_bytes, self.threads)
            writer.garbage_collect_files()  # files of a writer that was killed or filled the disk
            return _Writer(self.folder, writer)

    def reader(self) -> _Reader:
        """A reader of the newest commit; the same object until something is committed."""
        opened = self._open
        with opened.lock, _TranslatedErrors(self.folder):
            check_unmarked(self.folder, REMAKE_HINT)
            try:
                with open(os.path.join(self.folder, META), "rb") as file:
                    meta = file.read()
            except (FileNotFoundError, NotADirectoryError):
                raise NoIndex(f"there is no text index in {self.folder}", REMAKE_HINT) from None
            if opened.latest is None or meta != opened.meta:
                verify(self.folder)
                if opened.mirror is not None:
                    opened.index = None
                index = self._index()
                index.reload()
                opened.latest, opened.meta = _Reader(self.folder, index.searcher()), meta
            return opened.latest

    def verify(self) -> None:
        """Raises if any file is damaged; all of them are read."""
        with _TranslatedErrors(self.folder):
            verify(self.folder, always=True)

    def close(self) -> None:
        with self._open.lock:
            self._open.index = self._open.latest = None
            if self._open.mirror is not None:
                self._open.mirror.cleanup()
                self._open.mirror = None

    def _index(self) -> tantivy.Index:
        index = self._open.index
        if index is None:
            import tantivy

            engine = _engine()
            if not can_write(self.folder):
                self._open.mirror = _mirror(self.folder)
            place = self.folder if self._open.mirror is None else self._open.mirror.name
            try:
                index = tantivy.Index(engine.schema, place)
            except ValueError:  # made by an earlier version; the schemas differ in nothing that a query reads
                index = tantivy.Index(_schema("position"), place)
            index.register_tokenizer("words", engine.words)
            index.register_tokenizer("forms", engine.forms)
            index.config_reader("manual")
            self._open.index = index
        return index


def _mirror(folder: str) -> TemporaryDirectory[str]:
    """A temporary folder of links to a read-only index: tantivy needs to create a lock file for reading."""
    from tempfile import TemporaryDirectory

    mirror = TemporaryDirectory(prefix="watersmeet-")
    for name in os.listdir(folder):
        if not name.endswith(".lock"):
            file, link = os.path.join(os.path.abspath(folder), name), os.path.join(mirror.name, name)
            try:
                os.symlink(file, link)
            except (OSError, NotImplementedError):  # on Windows links need a privilege
                from shutil import copyfile

                copyfile(file, link)
    return mirror


class _Writer:
    """A writer, which holds tantivy's lock until it is closed; the lock ends with its process."""

    def __init__(self, folder: str, writer: tantivy.IndexWriter) -> None:
        self._folder = folder
        self._open: tantivy.IndexWriter | None = writer
        self._added = 0

    def add(self, entries: Iterable[Entry]) -> None:
        from tantivy import Document

        writer = self._writer()
        for entry in entries:
            document = Document()
            document.add_unsigned("row", entry.row)
            for name, text in entry.fields.items():
                if text:
                    document.add_text(checked_field(name), plain(text))
            with _TranslatedErrors(self._folder):
                writer.add_document(document)
            self._added += 1

    def drop(self, rows: Iterable[Row]) -> None:
        writer, dropped = self._writer(), list(rows)
        if dropped:
            with _TranslatedErrors(self._folder):
                writer.delete_documents_by_query(_engine().rows(dropped))

    def commit(self) -> None:
        writer = self._writer()
        with _TranslatedErrors(self._folder):
            writer.commit()
        tighten(self._folder)

    def pieces(self, new: int) -> int:
        """How many segments to commit so that tantivy merges the small ones; 1 unless this writer added most rows."""
        with _TranslatedErrors(self._folder):
            small = [size for size in sizes(self._folder) if size < SMALL_SEGMENT]
        missing = MERGE_COUNT - len(small)
        return missing if small and 0 < missing <= new and sum(small) <= 2 * self._added else 1

    def analyse(self, field: str, text: str) -> str:
        return _engine().analyse(checked_field(field), text)

    def row_count(self) -> int:
        """All rows, dropped ones included: they count in the statistics until the store is rewritten."""
        with _TranslatedErrors(self._folder):
            return sum(sizes(self._folder))

    def close(self) -> None:
        """Rolls back, waits for merges, and releases the lock."""
        writer, self._open = self._open, None
        if writer is not None:
            with _TranslatedErrors(self._folder):
                writer.wait_merging_threads()
                if os.path.exists(os.path.join(self._folder, META)):
                    note(self._folder)
            tighten(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with suppress(IndexProblem):  # the first error is reported
                self.close()

    def _writer(self) -> tantivy.IndexWriter:
        if self._open is None:
            raise ValueError("the writer is closed")
        return self._open


class _Reader:
    """A reader of one commit, unaffected by later commits and merges."""

    def __init__(self, folder: str, searcher: tantivy.Searcher) -> None:
        self._folder = folder
        self._searcher = searcher
        self._engine = _engine()

    @property
    def size(self) -> int:
        return self._searcher.num_docs

    def match(
        self, terms: Sequence[Term], limit: int, within: Collection[Row] | None = None
    ) -> list[tuple[Row, float]]:
        query = self._engine.query(terms)
        if query is None or limit < 1 or (within is not None and not within):
            return []
        if within is None:
            return self._top(query, limit)
        first, last = min(within), max(within)
        span = min(last - first + 1, self.size)
        if len(within) < DENSE_SHARE * span:
            return self._top(self._engine.inside(query, within), limit)
        ranged = query if span == self.size else self._engine.between(query, first, last)
        return self._top(ranged, limit, set(within), span)

    def score(self, terms: Sequence[Term], rows: Collection[Row]) -> dict[Row, float]:
        query = self._engine.query(terms)
        if query is None or not rows:
            return {}
        return dict(self._hits(self._engine.inside(query, rows), len(rows)))

    def frequency(self, field: str, text: str) -> int:
        token = self._engine.analyse(checked_field(field), text)
        with _TranslatedErrors(self._folder):
            return self._searcher.doc_freq(field, token) if token else 0

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        exact = checked_field(field) == EXACT_FIELD
        tokens = texts if exact else stems([plain(text) for text in texts])
        known = [
            token if len(text) <= MAX_TOKEN_LENGTH and (exact or text not in STOPWORDS) else ""
            for text, token in zip(texts, tokens, strict=True)
        ]
        count = self._searcher.doc_freq
        with _TranslatedErrors(self._folder):
            return [count(field, token) if token else 0 for token in known]

    def analyse(self, field: str, text: str) -> str:
        return self._engine.analyse(checked_field(field), text)

    def average(self, field: str) -> float:
        """The average length of a field as tantivy's BM25 has it, from the explanation of any word's score."""
        with _TranslatedErrors(self._folder):
            for prefix in COMMON_PREFIXES:
                for word, _ in self._searcher.terms_with_prefix(checked_field(field), prefix, limit=1):
                    query = self._engine.term(field, word)
                    hits = self._searcher.search(query, 1, count=False).hits
                    if hits:
                        return _average(json.loads(query.explain(self._searcher, hits[0][1]).to_json()))
        return 0.0

    def _top(
        self, query: tantivy.Query, limit: int, keep: Collection[Row] | None = None, searched_rows: int = 0
    ) -> list[tuple[Row, float]]:
        """The best hits; fetches more until there are enough and equal scores are complete.

        `keep`: only these rows, out of `searched_rows` that the query matches against.
        """
        fetch = limit + EXTRA_HITS
        if keep is not None:
            fetch = int(fetch * searched_rows / len(keep)) + EXTRA_HITS
        while True:
            fetch = min(fetch, self.size + 1)
            hits = self._hits(query, fetch)
            kept = hits if keep is None else [hit for hit in hits if hit[0] in keep]
            if len(hits) < fetch:
                break
            if len(kept) >= limit and (hits[-1][1] < kept[limit - 1][1] or fetch >= MAX_EQUAL):
                break
            fetch *= 8
        return sorted(kept, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def _hits(self, query: tantivy.Query, limit: int) -> list[tuple[Row, float]]:
        with _TranslatedErrors(self._folder):
            hits = self._searcher.search(query, limit, count=False).hits
            rows: list[Any] = self._searcher.fast_field_values("row", [address for _, address in hits])  # whole numbers
        return [(row, score) for row, (score, _) in zip(rows, hits, strict=True) if row is not None]


class _Engine:
    """Schema, tokenizers and queries. Queries are built from terms: no text is parsed as a query."""

    def __init__(self) -> None:
        from tantivy import FieldType, Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

        stops = Filter.custom_stopword(sorted(STOPWORDS))
        split = Tokenizer.whitespace
        self.words = TextAnalyzerBuilder(split()).filter(stops).filter(Filter.stemmer(LANGUAGE)).build()
        self.forms = TextAnalyzerBuilder(split()).build()
        self.schema = _schema()
        self._query, self._must, self._should = Query, Occur.Must, Occur.Should
        self._number = FieldType.Unsigned
        self._analysed = lru_cache(maxsize=1 << 12)(self._analyse)
        self._cached_query = lru_cache(maxsize=1 << 6)(self._build_query)

    def analyse(self, field: str, text: str) -> str:
        """The token of a word in the index; empty if it has none."""
        return self._analysed(text, field == EXACT_FIELD) if len(text) <= MAX_TOKEN_LENGTH else ""

    def _analyse(self, text: str, exact: bool) -> str:
        tokens = (self.forms if exact else self.words).analyze(plain(text))
        return tokens[0] if len(tokens) == 1 else ""

    def query(self, terms: Iterable[Term]) -> tantivy.Query | None:
        """The query for these terms, cached: it is used for matching, then for scoring other signals' hits."""
        return self._cached_query(tuple(terms))

    def _build_query(self, terms: tuple[Term, ...]) -> tantivy.Query | None:
        make = self._query
        parts = []
        for (name, token, constant), term in distinct(terms, self.analyse).items():
            if constant:
                part = make.const_score_query(make.term_query(self.schema, name, token, "basic"), term.boost)
            else:
                part = make.boost_query(make.term_query(self.schema, name, token, "freq"), term.boost)
            parts.append((self._should, part))
        return make.boolean_query(parts) if parts else None

    def term(self, field: str, token: str) -> tantivy.Query:
        return self._query.term_query(self.schema, field, token, "freq")

    def inside(self, query: tantivy.Query, rows: Collection[Row]) -> tantivy.Query:
        """The query restricted to these rows, without a change of score."""
        allowed = self._query.const_score_query(self.rows(rows), 0.0)
        return self._query.boolean_query([(self._must, query), (self._must, allowed)])

    def between(self, query: tantivy.Query, first: Row, last: Row) -> tantivy.Query:
        """The query restricted to a range of rows, without a change of score."""
        allowed = self._query.range_query(self.schema, "row", self._number, first, last)
        allowed = self._query.const_score_query(allowed, 0.0)
        return self._query.boolean_query([(self._must, query), (self._must, allowed)])

    def rows(self, rows: Collection[Row]) -> tantivy.Query:
        make, schema = self._query, self.schema
        if len(rows) > FEW_ROWS:
            return make.term_set_query(schema, "row", list(rows))
        one_by_one = [make.term_query(schema, "row", row, "basic") for row in rows]
        return make.boolean_query([(self._should, query) for query in one_by_one])


def _schema(body: Literal["freq", "position"] = "freq") -> tantivy.Schema:
    """Fields of the index. No query needs positions: phrases are looked up in the texts. Earlier versions stored those
    of `body`, a third of an index."""
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    for name in WORD_FIELDS:
        builder.add_text_field(name, tokenizer_name="words", index_option=body if name == "body" else "freq")
    builder.add_text_field(EXACT_FIELD, tokenizer_name="forms", index_option="freq")
    builder.add_unsigned_field("row", indexed=True, fast=True)
    return builder.build()


@cache
def _engine() -> _Engine:
    return _Engine()


def _average(explanation: dict[str, Any]) -> float:
    """The average field length, found in tantivy's explanation of a score."""
    if str(explanation.get("description", "")).startswith("avgdl"):
        return float(explanation["value"])
    return next((found for part in explanation.get("details", ()) if (found := _average(part))), 0.0)


class _TranslatedErrors:
    """Turns tantivy errors into index errors with a hint."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        panic = kind is not None and kind.__name__ == "PanicException"  # a Rust panic; its class cannot be imported
        if panic or isinstance(error, OSError | ValueError):
            raise _problem(self._folder, str(error)) from error


_NO_SPACE = tuple(f"{kind} {number}" for kind in ("os error", "Errno") for number in (ENOSPC, EDQUOT, EFBIG))
_NOT_ALLOWED = tuple(f"{kind} {number}" for kind in ("os error", "Errno") for number in (EACCES, EROFS))


def _problem(folder: str, reason: str) -> IndexProblem:
    if "LockBusy" in reason:
        return IndexBusy(f"{folder}: another process is writing", "wait until it is done")
    if "schema does not match" in reason:
        return IndexMismatch(f"{folder} has other fields than this version", REBUILD)
    if any(sign in reason for sign in _NO_SPACE) or disk_full(folder):
        return DiskFull(f"{folder}: no space left on the disk", MAKE_ROOM)
    if any(sign in reason for sign in _NOT_ALLOWED):
        return IndexProblem(f"{folder}: {reason}", "check the folder's permissions")
    return IndexDamaged(f"{folder}: {reason}", REMAKE_HINT)
