"""The test corpus of the contract suites, and the protocol for filling an index with it.

`HARBOUR` is small and has one of everything: sections, tags below tags, fields, dates, links, collections,
equal texts, retired and private documents, servers with tools.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from watersmeet.core.documents import Chunk, Document, Link
from watersmeet.core.entities import AGENT, KEYWORD, SEMANTIC, SERVER, SHOWN, SKILL, Entity, Tool, not_embedded
from watersmeet.core.ids import chunk_id
from watersmeet.core.index import ReadableIndex, Tier
from watersmeet.core.model import ChunkId, Condition, DocId
from watersmeet.core.place import NOWHERE, Place
from watersmeet.core.text_fields import breadcrumb, prepare
from watersmeet.core.visibility import AUDIENCE_GATE, EVERYONE, Audience, Viewer, audience_gates
from watersmeet.embed.hashed import Hashed
from watersmeet.engine.registry.documents import pages

if TYPE_CHECKING:
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Vector

MAIN = "main"


@dataclass(frozen=True, slots=True)
class Given:
    """A document with its chunks, as parser and chunker produce it. `also`: further words it is found by, which are
    in no text."""

    document: Document
    chunks: tuple[Chunk, ...]
    collection: str = MAIN
    also: str = ""

    def words(self) -> list[Mapping[str, str]]:
        """The text that a store indexes for each chunk: words by field, joined by spaces; `forms` unchanged."""
        return [prepared.fields for prepared in prepare(self.document, self.chunks, self.also)]

    def embedded(self) -> list[str]:
        """The text of each chunk that a model embeds."""
        title = self.document.title
        return [f"{breadcrumb(title, chunk.headings)}\n{chunk.text}" for chunk in self.chunks]


class Filling(Protocol):
    """An index that can be filled by a test. Each call is one commit."""

    @property
    def index(self) -> ReadableIndex: ...
    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        """Sets the metadata of a collection."""
        ...

    def restrict(self, name: str, audience: Audience) -> None:
        """Sets who may see the documents of a collection, present and later ones (`Roots.set_audience`)."""
        ...

    def put(self, given: Sequence[Given]) -> None:
        """Stores documents; those with the same ids are replaced."""
        ...

    def remove(self, documents: Collection[DocId]) -> None: ...
    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Vector | Weighted]) -> None:
        """Stores the vectors of some chunks in a tier, which is created by the first call."""
        ...

    def rebuild(self) -> None:
        """Rewrites the stores from the live rows."""
        ...


# ---------------------------------------------------------------- making documents


def page(name: str, *sections: tuple[tuple[str, ...], str], collection: str = MAIN, **attributes: Any) -> Given:
    """A document of sections, each with its heading path; missing attributes are derived from its name."""
    title = attributes.pop("title", name.rpartition("/")[2].partition(".")[0].capitalize())
    document = Document(DocId(name), attributes.pop("kind", "document"), title, f"/srv/{name}", **attributes)
    ordinals: dict[tuple[str, ...], int] = {}
    chunks = []
    for headings, text in sections:
        ordinal = ordinals[headings] = ordinals.get(headings, -1) + 1
        place = Place(anchor=headings[-1].lower()) if headings else NOWHERE
        chunks.append(Chunk(chunk_id(name, headings, ordinal), document.id, text, headings, place))
    return Given(document, tuple(chunks), collection)


def registered(entity: Entity) -> Iterator[Given]:
    """An entity and its tools, as documents."""
    also = not_embedded(entity)
    for document, chunks in pages(entity, "", {}):
        yield Given(document, tuple(chunks), MAIN, also)
        also = ""


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


# ---------------------------------------------------------------- the corpus

ADA, OPS = Viewer("ada"), Viewer("carl", ("ops",))
EVERYONES = Condition(gates=audience_gates(EVERYONE))
"""The condition for public documents."""


def visible_to(viewer: Viewer) -> Condition:
    return Condition(gates=audience_gates(viewer))


HANDBOOK = {"sdk": "Rust", "tag": "Team/Core"}
"""The metadata of the collection `handbook`."""

_EQUAL = ((), "An even swell runs under the pier.")

HARBOUR: tuple[Given, ...] = (
    page("ties/c.md", _EQUAL, title="Swell"),
    page("ties/a.md", _EQUAL, title="Swell"),
    page("ties/b.md", _EQUAL, title="Swell"),
    page(
        "guides/setup.md",
        (("Setup",), "Unpack the archive and run `tern serve --no-telemetry` on the harbour machine."),
        (("Setup", "Ports"), "The server listens on port 7878. Open that port in the firewall of the harbour."),
        (("Setup", "Ports", "Firewall"), "Firewall rules are kept in the ledger."),
        tags=("Start", "ops/install"),
        aliases=("Installation",),
        fields={"Status": "Active", "level": 3, "published": True, "teams": ["Ops", "Docs"]},
        modified=day(1, 5),
        created=datetime(2025, 12, 1, tzinfo=UTC),
        links=(Link("Keys"), Link("../notes/ideas.txt", "markdown", alias="loose ideas"), Link("nowhere")),
    ),
    page(
        "guides/keys.md",
        (("Keys",), "Rotate keys every quarter with `rotate_keys(user_id)`."),
        (("Keys", "Errors"), "TRN-1042 means that the key has expired. Rotate it at once."),
        tags=("security", "ops"),
        fields={"status": "beta", "level": 5, "Author": "Ines Moreau", "keywords": ["credentials", "KMS-9"]},
        modified=day(3, 1),
        links=(Link("Setup", alias="how it is set up"), Link("Setup", heading="Ports")),
    ),
    page(
        "guides/index.md", ((), "All guides of the harbour."), modified=day(2, 1), links=(Link("setup"), Link("keys"))
    ),
    page("notes/keys.md", ((), "A piano has many keys, black and white."), modified=day(2, 1), title="Keys"),
    page("notes/song.md", ((), "Songs are played on the piano."), links=(Link("Keys"), Link("Installation"))),
    page("notes/ideas.txt", ((), "Plain ideas about tides and estuaries."), kind="text"),
    page("rust.md", ((), "Ownership in the harbour crate. Borrow a mooring."), collection="handbook"),
    page("old.md", ((), "The old harbour is silted up."), fields={"@lifecycle": "deprecated"}),
    page("off.md", ((), "The floating harbour is switched off."), fields={"@enabled": False}),
    page("private/ada.md", ((), "Ada's zeppelin plans for the harbour."), fields={AUDIENCE_GATE: ["user:ada"]}),
    page(
        "private/ops.md",
        ((), "A zeppelin mooring, run by operations. Codename ZEP-77."),
        fields={AUDIENCE_GATE: ["group:ops", "user:bob"]},
        links=(Link("Setup"),),
    ),
    *registered(
        Entity(
            SERVER,
            "/weather",
            "Weather",
            "Forecasts of wind and tides.",
            ("climate",),
            (
                Tool("get_forecast", "The forecast for a place.", {"properties": {"city": {"description": "where"}}}),
                Tool("list_stations", "All stations that measure tides.", examples=("who measures the tides?",)),
            ),
            metadata={"region": "north"},
        )
    ),
    *registered(Entity(AGENT, "/pilot", "Pilot", "Steers ships into the harbour with the tides.", ("ships",))),
    *registered(Entity(SKILL, "/knots", "Knots", "Ties ropes.", metadata={"registry_name": "bosun locker"})),
    *registered(
        Entity(
            SERVER,
            "/customs",
            "Customs",
            "Duties on goods, by the tides of trade.",
            tools=(Tool("declare", "Declare goods."),),
            visibility="group",
            groups=("ops",),
        )
    ),
    *registered(
        Entity(
            "chart",
            "/depths",
            "Depths",
            "Soundings of anchorages.",
            metadata={"bottom": "mud", "edition": "sextant", "scale": 50000},
            fields={"bottom": SEMANTIC, "edition": KEYWORD, "scale": SHOWN},
        )
    ),
)

STATIC = Tier("static", "hashed-64", "hashed-1-64", 64, "vectors-static-1-hashed")
MODEL = Hashed(64)


def vectors(given: Sequence[Given] = HARBOUR) -> dict[ChunkId, Vector]:
    """The vector of each chunk by `MODEL`."""
    found: dict[ChunkId, Vector] = {}
    for one in given:
        found.update(zip((chunk.id for chunk in one.chunks), MODEL.embed(one.embedded()), strict=True))
    return found


def filled(filling: Filling) -> Filling:
    """Fills an index with all of `HARBOUR`."""
    filling.collect("handbook", HANDBOOK)
    filling.put(HARBOUR)
    filling.embed(STATIC, vectors())
    return filling


PRIVATE = ("private/ada.md", "private/ops.md", "/customs", "/customs#declare")
ALL = tuple(given.document.id for given in HARBOUR)
PUBLIC = tuple(document for document in ALL if document not in PRIVATE)


def documents(*names: str) -> set[DocId]:
    return {DocId(name) for name in names}


def chunk_of(document: str, number: int = 0) -> ChunkId:
    """The chunk of a document of `HARBOUR`, from 0."""
    return next(given for given in HARBOUR if given.document.id == document).chunks[number].id


@dataclass(frozen=True, slots=True)
class Case:
    """A condition, and the documents of `HARBOUR` that satisfy it."""

    name: str
    condition: Condition
    passes: frozenset[DocId] = field(default_factory=frozenset)


def _case(name: str, passes: Collection[str], **condition: Any) -> Case:
    return Case(name, Condition(**condition), frozenset(map(DocId, passes)))


def _but(*names: str) -> list[DocId]:
    return [document for document in ALL if document not in names]


_REGISTRY = [document for document in ALL if document.startswith("/")]
_DATED = ["guides/setup.md", "guides/keys.md", "guides/index.md", "notes/keys.md"]

CASES: tuple[Case, ...] = (
    _case("a field, in any case", ["guides/setup.md"], fields={"STATUS": ("ACTIVE",), "level": ("3",)}),
    _case("one of several values", ["guides/setup.md", "guides/keys.md"], fields={"level": ("3", "5", "7")}),
    _case("a field with a list", ["guides/setup.md"], fields={"teams": ("docs",)}),
    _case("a field that is true", ["guides/setup.md"], fields={"published": ("true",)}),
    _case("a key twice", ["guides/keys.md"], fields={"level": ("3", "5")}, also=(("level", ("5",)),)),
    _case("a value that nothing has", [], fields={"level": ("4",)}),
    _case("a key that nothing has", [], fields={"colour": ("red",)}),
    _case("a tag", ["guides/setup.md"], fields={"tag": ("start",)}),
    _case("a tag and those below it", ["guides/setup.md", "guides/keys.md"], fields={"tags": ("#OPS/",)}),
    _case("a tag that another begins with", [], fields={"tag": ("op",)}),
    _case("a tag of a collection", ["rust.md"], fields={"tag": ("team",)}),
    _case("a kind", ["notes/ideas.txt"], fields={"kind": ("TEXT",)}),
    _case("kinds of a registry", ["/weather", "/customs", "/pilot"], fields={"kind": ("mcp_server", "a2a_agent")}),
    _case("a collection", ["rust.md"], fields={"collection": ("Handbook",)}),
    _case("metadata of a collection", ["rust.md"], fields={"sdk": ("rust",)}),
    _case(
        "documents by name", ["guides/setup.md", "/weather"], fields={"document": ("guides/setup.md", "/weather", "x")}
    ),
    _case("the name of a file", ["guides/keys.md", "notes/keys.md"], fields={"path": ("keys.md",)}),
    _case(
        "files of a folder", ["guides/setup.md", "guides/keys.md", "guides/index.md"], fields={"path": ("guides/*.md",)}
    ),
    _case("files anywhere below", ["private/ada.md", "private/ops.md"], fields={"path": ("private/**",)}),
    _case("one of two globs", ["notes/ideas.txt", "rust.md"], fields={"path": ("*.txt", "rust.*")}),
    _case("a glob and a field", ["guides/keys.md"], fields={"path": ("*.md",), "status": ("beta",)}),
    _case("from a day on", ["guides/keys.md", "guides/index.md", "notes/keys.md"], since=day(2, 1)),
    _case("before a day", ["guides/setup.md"], before=day(2, 1)),
    _case("between two days", ["guides/index.md", "notes/keys.md"], since=day(1, 6), before=day(3, 1)),
    _case("without a value", _but("guides/setup.md"), without=(("level", ("3",)),)),
    _case("without a tag", _but("guides/setup.md", "guides/keys.md"), without=(("tag", ("ops",)),)),
    _case("without a collection", _but("rust.md"), without=(("collection", ("handbook",)),)),
    _case("without a path", _but("notes/keys.md", "notes/song.md"), without=(("path", ("notes/*.md",)),)),
    _case(
        "without kinds",
        _but(*_REGISTRY),
        without=(("kind", ("mcp_server", "a2a_agent", "skill", "tool", "custom:chart")),),
    ),
    _case("for everyone", PUBLIC, gates=audience_gates(EVERYONE)),
    _case("for a user", [*PUBLIC, "private/ada.md"], gates=audience_gates(ADA)),
    _case("for a group", [*PUBLIC, "private/ops.md", "/customs", "/customs#declare"], gates=audience_gates(OPS)),
    _case("what is not retired", _but("old.md"), gates={"@lifecycle": ("active", "beta")}),
    _case("what is switched on", _but("off.md"), gates={"@enabled": ("true",)}),
    _case("gates and a field", ["guides/keys.md"], fields={"tag": ("security",)}, gates=audience_gates(EVERYONE)),
    _case("nothing that is private", [], fields={"path": ("private/*",)}, gates=audience_gates(EVERYONE)),
    _case("dates and gates", _DATED, since=day(1, 1), gates={**audience_gates(EVERYONE), "@lifecycle": ("active",)}),
)
