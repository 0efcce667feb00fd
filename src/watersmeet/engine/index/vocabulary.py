"""The concept vocabulary of an index: gathered after a sync, and asked by meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING
from zlib import crc32

from watersmeet.core import tokens, vocabulary
from watersmeet.core.errors import IndexDamaged, IndexProblem
from watersmeet.core.index import Index, Snapshot, Tier
from watersmeet.core.indexing import Skipped
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
"""How many chunks are read at a time."""
MOST_CHUNKS = 20_000
"""Of more chunks, so many by chance: they hold the frequent terms as well, in about a second."""
WAIT = 5.0
SUM = 4
"""The bytes behind the vectors that tell whether they are damaged, or those of other terms."""
SPARE = 100
"""Looked at beyond those wanted: the nearest terms to a query are often its own words in other forms."""


States = Callable[[str], "State"]
"""The state of each name."""


def terms_in(states: States, name: str) -> State:
    return states(f"{name}.json")


def vectors_in(states: States, name: str) -> State:
    """Those of the terms of this name, made when they are first needed."""
    return states(f"{name}.npy")


def refresh(index: Index, settings: Settings, measure: bool = False) -> list[Skipped]:
    """Gather the terms anew if what is live has changed by enough, or if `measure` says so; what could not be kept."""
    if not embedder_name(settings, TIER):
        return []
    with index.snapshot() as snapshot:
        tier = snapshot.tiers().get(TIER)
        if tier is None:
            return []
        text, last = snapshot.generation, snapshot.last_row()
        everyone = Condition(gates=snapshot.needed(visible_to(EVERYONE).gates))
        chunks, public = snapshot.statistics().chunks, snapshot.statistics(everyone).chunks
        counts = {vocabulary.PUBLIC: public, vocabulary.PRIVATE: chunks - public}
        stale = [
            name
            for name, count in counts.items()
            if count and (measure or not _current(index.state, snapshot, everyone, name, count, tier, chunks > public))
        ]
        sampled = {name: snapshot.sample(MOST_CHUNKS, everyone, outside=name == vocabulary.PRIVATE) for name in stale}
        counted = {name: vocabulary.gather(_texts(snapshot, sampled[name])) for name in stale}
    try:
        for name, terms in counted.items():
            made = vocabulary.vocabulary(terms, counts[name], last, tier.fingerprint, text, name)
            _replace(terms_in(index.state, name), vocabulary.encode(made))
        if chunks == public:
            for state in (terms_in(index.state, vocabulary.PRIVATE), vectors_in(index.state, vocabulary.PRIVATE)):
                _replace(state, None)
    except IndexProblem as problem:
        return [Skipped(f"{name}.json", f"no related terms: {problem}")]
    return []


def terms_of(state: State) -> vocabulary.Terms | None:
    """None if there are none that can be used."""
    with suppress(IndexProblem):
        return vocabulary.decode(state.read())
    return None


def _replace(state: State, content: bytes | None) -> None:
    if content is not None or state.version() is not None:
        with state.changing(WAIT) as change:
            change.write(content)


def _current(
    states: States, snapshot: Snapshot, everyone: Condition, name: str, chunks: int, tier: Tier, private: bool
) -> bool:
    """Whether the terms of these chunks are known. What an older version wrote may hold private ones."""
    held = terms_of(terms_in(states, name))
    if held is None or (name == vocabulary.PUBLIC and private and not held.public):
        return False
    added = snapshot.added_since(held.last_row, everyone)
    added = snapshot.added_since(held.last_row) - added if name == vocabulary.PRIVATE else added
    return held.is_current(chunks, added, tier.fingerprint, snapshot.generation)


def _texts(snapshot: Snapshot, chunks: Sequence[ChunkId]) -> Iterator[str]:
    for start in range(0, len(chunks), WINDOW):
        for passage in snapshot.passages(chunks[start : start + WINDOW]).values():
            yield "\n".join((*passage.headings, passage.text))


@dataclass(slots=True)
class LiveConcepts:
    """The `Concepts` port; nothing is read before it is asked. Without a vocabulary there is nothing near.

    `whole`: for those from whom nothing is withheld. All others are told terms that everyone may see.
    """

    states: States
    settings: Settings
    snapshot: Snapshot
    whole: bool = True
    _held: dict[str, tuple[object, tuple[list[str], Matrix]]] = field(default_factory=dict, init=False)

    def nearest(self, text: str, limit: int) -> list[str]:
        name = embedder_name(self.settings, TIER)
        if not name or TIER not in self.snapshot.tiers():
            return []
        names = (vocabulary.PUBLIC, vocabulary.PRIVATE) if self.whole else (vocabulary.PUBLIC,)
        held = [each for part in names if (each := self._vocabulary(name, part))]
        if not held:
            return []
        import numpy as np

        terms = [term for part, _ in held for term in part]
        matrix = np.concatenate([vectors for _, vectors in held]) if len(held) > 1 else held[0][1]
        cosines = matrix @ embedder(self.settings, name).embed_query(text)
        many = min(len(terms), limit + SPARE)
        nearest = np.argpartition(-cosines, many - 1)[:many]
        said, found = tokens.words(text), list[str]()
        for n in sorted(nearest.tolist(), key=lambda n: (-cosines[n], n)):
            if cosines[n] > 0 and len(found) < limit and not any(_alike(terms[n], word) for word in (*said, *found)):
                found.append(terms[n])
        return found

    def _vocabulary(self, name: str, part: str) -> tuple[list[str], Matrix] | None:
        """As long as its terms are the same, it is read once."""
        state = terms_in(self.states, part)
        version = state.version()
        if version is None:
            return None
        if part not in self._held or self._held[part][0] != version:
            found = terms_of(state)
            if found is None:
                raise IndexDamaged(f"{part}.json is damaged", "`watersmeet sync` makes it again")
            model = embedder(self.settings, name)
            if not found.terms or found.model != model.fingerprint:
                return None
            if not self.whole and not found.public:
                return None
            self._held[part] = (version, (found.terms, vectors(self.states, part, found, model)))
        return self._held[part][1]


def vectors(states: States, name: str, terms: vocabulary.Terms, model: Embedder) -> Matrix:
    """One row for each term, as they are kept or, the first time, from the model."""
    import numpy as np

    state, shape = vectors_in(states, name), (len(terms.terms), model.dimension)
    own = crc32(terms.vectors.encode())
    for kept, start in ((state, own), (states(terms.vectors), 0)):  # the second is where an older version has them
        with suppress(IndexProblem, ValueError, EOFError):
            content = kept.read() or b""
            if crc32(content[:-SUM], start) == int.from_bytes(content[-SUM:], "little"):
                held: Matrix = np.load(BytesIO(content)).astype(np.float32)
                if held.shape == shape:
                    return held
    made = model.embed(terms.terms)
    with suppress(IndexProblem):  # an index that may only be read costs the time again, and nothing else
        buffer = BytesIO()
        np.save(buffer, made.astype(np.float16))
        content = buffer.getvalue()
        _replace(state, content + crc32(content, own).to_bytes(SUM, "little"))
    return made


def _alike(term: str, word: str) -> bool:
    """Whether they are one word in two forms, as far as their beginnings tell: `rotate`, `rotation`."""
    shared = next((n for n, (a, b) in enumerate(zip(term, word, strict=False)) if a != b), min(len(term), len(word)))
    return shared >= max(vocabulary.SHORTEST, min(len(term), len(word)) - 2)
