"""Text in tantivy: the default. One commit point on disk, searches without the interpreter's lock."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EACCES, EDQUOT, EFBIG, ENOSPC, EROFS
from functools import cache, lru_cache
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

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
from watersmeet.core.model import Row
from watersmeet.core.options import option
from watersmeet.core.ports import Term
from watersmeet.core.tokens import STOPWORDS
from watersmeet.store.local._file_checks import unmarked
from watersmeet.store.local._segments import META, note, sizes, verify
from watersmeet.store.local._text import (
    AGAIN,
    EXACT_FIELD,
    LONGEST,
    MAKE_ROOM,
    REBUILD,
    WORD_FIELDS,
    disk_full,
    distinct,
    known,
    plain,
)

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    import tantivy

    from watersmeet.core.indexing import Entry

__all__ = ["EXACT_FIELD", "WORD_FIELDS", "Tantivy"]

LEAST_HEAP, MOST_HEAP = 15_000_000, 4_000_000_000
"""What tantivy asks for each thread, and what it can use."""

SMALL, JOINED = 10_000, 8
"""tantivy joins so many segments of fewer rows than that into one. Each commit makes one, and each is searched by
itself: in seven of 4,000 rows a query takes up to twice as long as in one of 28,000."""

SPARE = 8
"""Fetched beyond the limit, to see whether equal scores go on there."""

MOST_EQUAL = 20_000
"""So many hits are looked through to put equal scores in order; beyond, any of them may be left out."""

SOME = ("co", "re", "s", "a", "")
"""Beginnings of words that most texts have: all words of a large index are many."""

FEW_ROWS = 400
"""Up to here a query for each row is quicker than one for a set of rows (100 rows: 0.5 against 1.7 ms)."""

LARGE_SHARE = 0.1
"""Where `within` is at least this part of the rows between its first and its last, filtering what is found among these
beats looking rows up. What was written together stands together."""


class _Opened:
    """What a store has open: the index, and the reader of the newest commit that it has seen."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.index: tantivy.Index | None = None
        self.mirror: TemporaryDirectory[str] | None = None
        self.meta = b""
        self.latest: _Reader | None = None


@dataclass(frozen=True, slots=True)
class Tantivy:
    """A folder that tantivy owns."""

    folder: str
    heap_bytes: int = option(50_000_000, "memory for words not yet written; at least 15 MB for each thread")
    threads: int = option(1, "threads that index; more are quicker, cost memory and leave more files")
    _opened: _Opened = field(default_factory=_Opened, init=False, repr=False, compare=False)

    of_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ConfigError(f"store.tantivy.threads cannot be {self.threads}", "it is 1 or more")
        least, most = LEAST_HEAP * self.threads, MOST_HEAP * self.threads
        if not least <= self.heap_bytes <= most:
            threads = f" for {self.threads} threads" if self.threads > 1 else ""
            raise ConfigError(
                f"store.tantivy.heap_bytes cannot be {self.heap_bytes}", f"it is from {least} to {most}{threads}"
            )

    def writer(self) -> _Writer:
        """The only writer there is, in any process; the index is made if there is none."""
        with self._opened.lock, _Understood(self.folder):
            make_private(self.folder)
            writer = self._index().writer(self.heap_bytes, self.threads)
            writer.garbage_collect_files()  # what a writer left that died or filled the disk
            return _Writer(self.folder, writer)

    def reader(self) -> _Reader:
        """The newest commit; the same object as long as nothing was committed."""
        opened = self._opened
        with opened.lock, _Understood(self.folder):
            unmarked(self.folder, AGAIN)
            try:
                with open(os.path.join(self.folder, META), "rb") as file:
                    meta = file.read()
            except (FileNotFoundError, NotADirectoryError):
                raise NoIndex(f"there is no text index in {self.folder}", AGAIN) from None
            if opened.latest is None or meta != opened.meta:
                verify(self.folder)
                if opened.mirror is not None:
                    opened.index = None
                index = self._index()
                index.reload()
                opened.latest, opened.meta = _Reader(self.folder, index.searcher()), meta
            return opened.latest

    def verify(self) -> None:
        """Raise if any of its files is not what was written; all of them are read."""
        with _Understood(self.folder):
            verify(self.folder, always=True)

    def close(self) -> None:
        with self._opened.lock:
            self._opened.index = self._opened.latest = None
            if self._opened.mirror is not None:
                self._opened.mirror.cleanup()
                self._opened.mirror = None

    def _index(self) -> tantivy.Index:
        index = self._opened.index
        if index is None:
            import tantivy

            engine = _engine()
            if not can_write(self.folder):
                self._opened.mirror = _mirror(self.folder)
            place = self.folder if self._opened.mirror is None else self._opened.mirror.name
            index = tantivy.Index(engine.schema, place)
            index.register_tokenizer("words", engine.words)
            index.register_tokenizer("forms", engine.forms)
            index.config_reader("manual")
            self._opened.index = index
        return index


def _mirror(folder: str) -> TemporaryDirectory[str]:
    """A folder of links to the files of another: tantivy locks a file to read, and in that one it cannot make it."""
    from tempfile import TemporaryDirectory

    made = TemporaryDirectory(prefix="watersmeet-")
    for name in os.listdir(folder):
        if not name.endswith(".lock"):
            file, link = os.path.join(os.path.abspath(folder), name), os.path.join(made.name, name)
            try:
                os.symlink(file, link)
            except (OSError, NotImplementedError):  # on Windows not everyone may
                from shutil import copyfile

                copyfile(file, link)
    return made


class _Writer:
    """Holds tantivy's lock on the folder until it is closed; the lock of a process that died is void."""

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
                    document.add_text(known(name), plain(text))
            with _Understood(self._folder):
                writer.add_document(document)
            self._added += 1

    def drop(self, rows: Iterable[Row]) -> None:
        writer, gone = self._writer(), list(rows)
        if gone:
            with _Understood(self._folder):
                writer.delete_documents_by_query(_engine().rows(gone))

    def commit(self) -> None:
        writer = self._writer()
        with _Understood(self._folder):
            writer.commit()
        tighten(self._folder)

    def pieces(self, new: int) -> int:
        """As many as there must be for tantivy to join the segments, if most of what they hold was added just now."""
        with _Understood(self._folder):
            small = [size for size in sizes(self._folder) if size < SMALL]
        missing = JOINED - len(small)
        return missing if small and 0 < missing <= new and sum(small) <= 2 * self._added else 1

    def analyse(self, field: str, text: str) -> str:
        return _engine().analyse(known(field), text)

    def row_count(self) -> int:
        """Rows that were dropped count in the statistics until they are written anew."""
        with _Understood(self._folder):
            return sum(sizes(self._folder))

    def close(self) -> None:
        """Forget what was not committed, let merges end, give up the lock."""
        writer, self._open = self._open, None
        if writer is not None:
            with _Understood(self._folder):
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
            with suppress(IndexProblem):  # the first error is the one to tell of
                self.close()

    def _writer(self) -> tantivy.IndexWriter:
        if self._open is None:
            raise ValueError("the writer is closed")
        return self._open


class _Reader:
    """One commit, held open: what is committed or merged later does not touch it."""

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
        if len(within) < LARGE_SHARE * span:
            return self._top(self._engine.inside(query, within), limit)
        between = query if span == self.size else self._engine.between(query, first, last)
        return self._top(between, limit, set(within), span)

    def score(self, terms: Sequence[Term], rows: Collection[Row]) -> dict[Row, float]:
        query = self._engine.query(terms)
        if query is None or not rows:
            return {}
        return dict(self._hits(self._engine.inside(query, rows), len(rows)))

    def frequency(self, field: str, text: str) -> int:
        token = self._engine.analyse(known(field), text)
        with _Understood(self._folder):
            return self._searcher.doc_freq(field, token) if token else 0

    def analyse(self, field: str, text: str) -> str:
        return self._engine.analyse(known(field), text)

    def average(self, field: str) -> float:
        """As BM25 has it here: any word that occurs in the field tells."""
        with _Understood(self._folder):
            for prefix in SOME:
                for word, _ in self._searcher.terms_with_prefix(known(field), prefix, limit=1):
                    query = self._engine.term(field, word)
                    hits = self._searcher.search(query, 1, count=False).hits
                    if hits:
                        return _average(json.loads(query.explain(self._searcher, hits[0][1]).to_json()))
        return 0.0

    def _top(
        self, query: tantivy.Query, limit: int, keep: Collection[Row] | None = None, among: int = 0
    ) -> list[tuple[Row, float]]:
        """The first hits, fetching on until enough are kept and no equal score is left behind.

        `keep`: the rows that are wanted, of so many that the query is asked `among`.
        """
        wanted = limit + SPARE
        if keep is not None:
            wanted = int(wanted * among / len(keep)) + SPARE
        while True:
            wanted = min(wanted, self.size + 1)
            hits = self._hits(query, wanted)
            kept = hits if keep is None else [hit for hit in hits if hit[0] in keep]
            if len(hits) < wanted:
                break
            if len(kept) >= limit and (hits[-1][1] < kept[limit - 1][1] or wanted >= MOST_EQUAL):
                break
            wanted *= 8
        return sorted(kept, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def _hits(self, query: tantivy.Query, limit: int) -> list[tuple[Row, float]]:
        with _Understood(self._folder):
            hits = self._searcher.search(query, limit, count=False).hits
            rows: list[Any] = self._searcher.fast_field_values("row", [address for _, address in hits])  # whole numbers
        return [(row, score) for row, (score, _) in zip(rows, hits, strict=True) if row is not None]


class _Engine:
    """Schema, analysers and queries. Queries are built from terms: no text is ever parsed as a query."""

    def __init__(self) -> None:
        from tantivy import FieldType, Filter, Occur, Query, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

        stops = Filter.custom_stopword(sorted(STOPWORDS))
        split = Tokenizer.whitespace
        self.words = TextAnalyzerBuilder(split()).filter(stops).filter(Filter.stemmer("english")).build()
        self.forms = TextAnalyzerBuilder(split()).build()
        builder = SchemaBuilder()
        for name in WORD_FIELDS:
            places = "position" if name == "body" else "freq"
            builder.add_text_field(name, tokenizer_name="words", index_option=places)
        builder.add_text_field(EXACT_FIELD, tokenizer_name="forms", index_option="freq")
        builder.add_unsigned_field("row", indexed=True, fast=True)
        self.schema = builder.build()
        self._query, self._must, self._should = Query, Occur.Must, Occur.Should
        self._number = FieldType.Unsigned
        self._analysed = lru_cache(maxsize=1 << 12)(self._analyse)
        self._asked = lru_cache(maxsize=1 << 6)(self._ask)

    def analyse(self, field: str, text: str) -> str:
        """The term that stands for the word in the index; empty if none does."""
        return self._analysed(text, field == EXACT_FIELD) if len(text) <= LONGEST else ""

    def _analyse(self, text: str, exactly: bool) -> str:
        tokens = (self.forms if exactly else self.words).analyze(plain(text))
        return tokens[0] if len(tokens) == 1 else ""

    def query(self, terms: Iterable[Term]) -> tantivy.Query | None:
        """The same terms are looked for, and then scored where others found something."""
        return self._asked(tuple(terms))

    def _ask(self, terms: tuple[Term, ...]) -> tantivy.Query | None:
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
        """The query, only for these rows, which add nothing to the score."""
        allowed = self._query.const_score_query(self.rows(rows), 0.0)
        return self._query.boolean_query([(self._must, query), (self._must, allowed)])

    def between(self, query: tantivy.Query, first: Row, last: Row) -> tantivy.Query:
        """The query, only for the rows from the first to the last, which add nothing to the score."""
        allowed = self._query.range_query(self.schema, "row", self._number, first, last)
        allowed = self._query.const_score_query(allowed, 0.0)
        return self._query.boolean_query([(self._must, query), (self._must, allowed)])

    def rows(self, rows: Collection[Row]) -> tantivy.Query:
        make, schema = self._query, self.schema
        if len(rows) > FEW_ROWS:
            return make.term_set_query(schema, "row", list(rows))
        one_by_one = [make.term_query(schema, "row", row, "basic") for row in rows]
        return make.boolean_query([(self._should, query) for query in one_by_one])


@cache
def _engine() -> _Engine:
    return _Engine()


def _average(told: dict[str, Any]) -> float:
    """The average length of the field, wherever in tantivy's account of a score it stands."""
    if str(told.get("description", "")).startswith("avgdl"):
        return float(told["value"])
    return next((found for part in told.get("details", ()) if (found := _average(part))), 0.0)


class _Understood:
    """tantivy's complaints, said so that the user can act on them."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        panic = kind is not None and kind.__name__ == "PanicException"  # of Rust; it has no importable class
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
    return IndexDamaged(f"{folder}: {reason}", AGAIN)
