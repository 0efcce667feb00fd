"""Concept vocabulary of an index: terms collected after a sync, and searched by vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from io import BytesIO
from typing import TYPE_CHECKING
from zlib import crc32

from watersmeet.core import tokens, vocabulary
from watersmeet.core.errors import IndexDamaged, IndexProblem
from watersmeet.core.index import Index, Snapshot, Tier
from watersmeet.core.indexing import Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.index.tiers import embedder_name
from watersmeet.engine.models import embedder
from watersmeet.engine.query.visibility import visible_to
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from watersmeet.core.index import State
    from watersmeet.core.vectors import Embedder, Matrix

TIER = "static"
WINDOW = 4096
"""Chunks read at a time."""
LOCK_SECONDS = 5.0
CHECKSUM_BYTES = 4
"""Length of the checksum after the vectors, which detects damage and vectors of other terms."""
EXTRA_TERMS = 100
"""Further terms to look at: the nearest terms to a query are often its own words in other forms."""


States = Callable[[str], "State"]
"""A function from a name to its state."""


def terms_in(states: States, name: str) -> State:
    return states(f"{name}.json")


def vectors_in(states: States, name: str) -> State:
    """The state with vectors of the terms, made when first needed."""
    return states(f"{name}.npy")


def refresh(index: Index, settings: Settings, measure: bool = False) -> list[Skipped]:
    """Collect the terms of all chunks if enough of them have changed, or if `measure` is set; otherwise add those of
    new chunks. Returns warnings."""
    if not embedder_name(settings, TIER):
        return []
    with index.snapshot() as snapshot:
        tier = snapshot.tiers().get(TIER)
        if tier is None:
            return []
        everyone = Condition(gates=snapshot.needed(visible_to(EVERYONE).gates))
        chunks, public = snapshot.statistics().chunks, snapshot.statistics(everyone).chunks
        counts = {vocabulary.PUBLIC: public, vocabulary.PRIVATE: chunks - public}
        made = {
            name: terms
            for name, count in counts.items()
            if count and (terms := _collected(index.state, snapshot, everyone, name, count, tier, measure))
        }
    try:
        for name, terms in made.items():
            _replace(terms_in(index.state, name), vocabulary.encode(terms))
        if chunks == public:
            for state in (terms_in(index.state, vocabulary.PRIVATE), vectors_in(index.state, vocabulary.PRIVATE)):
                _replace(state, None)
    except IndexProblem as problem:
        return [Skipped(f"{name}.json", f"no related terms: {problem}")]
    return []


def terms_of(state: State) -> vocabulary.Terms | None:
    """The terms in a state; None if they are missing or damaged."""
    with suppress(IndexProblem):
        return vocabulary.decode(state.read())
    return None


def _replace(state: State, content: bytes | None) -> None:
    if content is not None or state.version() is not None:
        with state.changing(LOCK_SECONDS) as change:
            change.write(content)


def _collected(
    states: States, snapshot: Snapshot, everyone: Condition, name: str, count: int, tier: Tier, measure: bool
) -> vocabulary.Terms | None:
    """New terms of one part of the index, which has `count` chunks; None if the stored ones are up to date."""
    stored, private = terms_of(terms_in(states, name)), name == vocabulary.PRIVATE
    if stored is not None and not measure:
        added = snapshot.added_since(stored.last_row, everyone)
        added = snapshot.added_since(stored.last_row) - added if private else added
        if stored.is_current(count, added, tier.fingerprint, snapshot.generation):
            if not added:
                return None
            chunks = snapshot.sample(added, everyone, outside=private, since=stored.last_row)
            return stored.with_added(vocabulary.gather(_texts(snapshot, chunks)), count, added, snapshot.last_row())
    terms = vocabulary.gather(_texts(snapshot, snapshot.sample(count, everyone, outside=private)))
    return vocabulary.vocabulary(terms, count, snapshot.last_row(), tier.fingerprint, snapshot.generation, name)


def _texts(snapshot: Snapshot, chunks: Sequence[ChunkId]) -> Iterator[str]:
    for start in range(0, len(chunks), WINDOW):
        for passage in snapshot.passages(chunks[start : start + WINDOW]).values():
            yield "\n".join((*passage.headings, passage.text))


@dataclass(slots=True)
class LiveConcepts:
    """The `Concepts` port, loaded when first used. Without a vocabulary it finds nothing.

    `whole`: for viewers who may see everything. Others get only terms of public documents.
    """

    states: States
    settings: Settings
    snapshot: Snapshot
    whole: bool = True
    _cached: dict[str, tuple[object, tuple[list[str], Matrix]]] = field(default_factory=dict, init=False)

    def nearest(self, text: str, limit: int) -> list[str]:
        name = embedder_name(self.settings, TIER)
        if not name or TIER not in self.snapshot.tiers():
            return []
        names = (vocabulary.PUBLIC, vocabulary.PRIVATE) if self.whole else (vocabulary.PUBLIC,)
        parts = [each for part in names if (each := self._vocabulary(name, part))]
        if not parts:
            return []
        import numpy as np

        terms = [term for part, _ in parts for term in part]
        matrix = np.concatenate([vectors for _, vectors in parts]) if len(parts) > 1 else parts[0][1]
        cosines = matrix @ embedder(self.settings, name).embed_query(text)
        count = min(len(terms), limit + EXTRA_TERMS)
        nearest = np.argpartition(-cosines, count - 1)[:count]
        query_words, found = tokens.words(text), list[str]()
        for n in sorted(nearest.tolist(), key=lambda n: (-cosines[n], n)):
            if (
                cosines[n] > 0
                and len(found) < limit
                and not any(_alike(terms[n], word) for word in (*query_words, *found))
            ):
                found.append(terms[n])
        return found

    def _vocabulary(self, name: str, part: str) -> tuple[list[str], Matrix] | None:
        """Terms and vectors of one part, cached until the terms change."""
        state = terms_in(self.states, part)
        version = state.version()
        if version is None:
            return None
        if part not in self._cached or self._cached[part][0] != version:
            found = terms_of(state)
            if found is None:
                raise IndexDamaged(f"{part}.json is damaged", "run `watersmeet sync`, which rebuilds it")
            model = embedder(self.settings, name)
            if not found.terms or found.model != model.fingerprint:
                return None
            if not self.whole and (not found.public or found.text != self.snapshot.generation):
                return None  # of an earlier text store: what was public then may be private now
            self._cached[part] = (version, (found.terms, vectors(self.states, part, found, model)))
        return self._cached[part][1]


def vectors(states: States, name: str, terms: vocabulary.Terms, model: Embedder) -> Matrix:
    """Vectors of terms, one row each, from the state or, the first time, from the model."""
    import numpy as np

    state, shape = vectors_in(states, name), (len(terms.terms), model.dimension)
    own = crc32(terms.vectors.encode())
    for stored, start in ((state, own), (states(terms.vectors), 0)):  # the second is the place of an older version
        with suppress(IndexProblem, ValueError, EOFError):
            content = stored.read() or b""
            if crc32(content[:-CHECKSUM_BYTES], start) == int.from_bytes(content[-CHECKSUM_BYTES:], "little"):
                loaded: Matrix = np.load(BytesIO(content)).astype(np.float32)
                if loaded.shape == shape:
                    return loaded
    made = model.embed(terms.terms)
    with suppress(IndexProblem):  # a read-only index computes them each time
        buffer = BytesIO()
        np.save(buffer, made.astype(np.float16))
        content = buffer.getvalue()
        _replace(state, content + crc32(content, own).to_bytes(CHECKSUM_BYTES, "little"))
    return made


def _alike(term: str, word: str) -> bool:
    """Whether two words look like forms of one, by their beginnings: `rotate`, `rotation`."""
    shared = next((n for n, (a, b) in enumerate(zip(term, word, strict=False)) if a != b), min(len(term), len(word)))
    return shared >= max(vocabulary.MIN_TERM_LENGTH, min(len(term), len(word)) - 2)
