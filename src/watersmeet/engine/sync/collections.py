"""Collections of documents: which one a root belongs to, and who may see it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any

from watersmeet.core.errors import ConfigError, NotFound, nearest
from watersmeet.core.index import Index
from watersmeet.core.indexing import Source
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.registry_records import COLLECTION as REGISTRY
from watersmeet.core.system import is_within, trimmed
from watersmeet.core.visibility import Audience, audience_text
from watersmeet.core.writing import Root, Roots
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import Settings

DEFAULT = "default"
"""The collection of roots without one; it is not shown."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a sync says of the collection of its paths. Without an audience, that stays as it is."""

    collection: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    audience: Audience | None = None

    def __bool__(self) -> bool:
        return bool(self.collection or self.meta or self.audience is not None)


UNCHANGED = Wanted()


def collection_of_new(catalogue: Roots, source: Source, uri: str, own: str, name: str, wanted: Wanted) -> int:
    """The collection of a new root: the wanted one; that of restricted documents of the same place; its source's own;
    the default."""
    restricted = restricted_around(catalogue, source, uri)
    own = restricted or own or (_new_name(catalogue, name) if wanted else DEFAULT)
    _refuse_restricted_inside(catalogue, source, uri, wanted.collection or own, wanted)
    return _collection(catalogue, uri, restricted, wanted.collection or own, wanted)


def in_collection(catalogue: Roots, root: Root, wanted: Wanted) -> Root:
    """A root of the index in the wanted collection, if any is wanted."""
    if not wanted:
        return root
    own = catalogue.collections()[root.collection]
    restricted = own if root.collection in catalogue.collection_audiences() else ""
    name = wanted.collection or (_new_name(catalogue, root.name) if own == DEFAULT else own)
    chosen = _collection(catalogue, root.path, restricted, name, wanted)
    if chosen != root.collection:
        catalogue.set_root_collection(root.id, chosen)
    return replace(root, collection=chosen)


def _collection(catalogue: Roots, uri: str, restricted: str, name: str, wanted: Wanted) -> int:
    """The id of a collection, with the wanted metadata and audience. Raises if documents would leave a restricted
    collection for one with another audience, and nobody said that they should."""
    audiences = _by_name(catalogue)
    audience = audiences.get(name, ())
    if wanted.audience is not None:
        audience = wanted.audience
    elif restricted and audience != audiences[restricted]:
        raise ConfigError(
            f"{uri} is in collection {restricted!r}, which is for {audience_text(audiences[restricted])}; {name!r} is"
            f" for {audience_text(audience)}",
            f"say who may see it: `--audience {audience_text(audiences[restricted])}`, or `--audience public`",
        )
    chosen = catalogue.collection(name, wanted.meta)
    if audience != audiences.get(name, ()):
        _refuse_registry(name)
        catalogue.set_audience(chosen, audience)
    return chosen


def _by_name(catalogue: Roots) -> dict[str, Audience]:
    names = catalogue.collections()
    return {names[identity]: audience for identity, audience in catalogue.collection_audiences().items()}


def _refuse_registry(name: str) -> None:
    if name == REGISTRY:
        raise ConfigError(
            "registered entities say themselves who may see them", "set `visibility` in their records and register them"
        )


def _new_name(catalogue: Roots, name: str) -> str:
    """A collection name that is not in use."""
    taken = {DEFAULT, *catalogue.collections().values(), *_by_name(catalogue)}
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(taken) + 3))) if n not in taken)


# ---------------------------------------------------------------- places with restricted documents


def restricted_places(catalogue: Roots) -> dict[str, str]:
    """Where restricted documents are or were read from, each with the name of their collection."""
    names, audiences = catalogue.collections(), catalogue.collection_audiences()
    present = {root.path: names[root.collection] for root in catalogue.roots() if root.collection in audiences}
    return {**catalogue.former_collections(), **present}


def restricted_around(catalogue: Roots, source: Source, uri: str) -> str:
    """The collection of restricted documents that a place is a part of, the nearest one; empty if there is none."""
    places = restricted_places(catalogue)
    around = [path for path in places if _lies_in(source, uri, path)]
    return places[max(around, key=len)] if around else ""


def closed_inside(catalogue: Roots, source: Source, root: Root) -> dict[str, str]:
    """Places inside a root, of roots or of removed ones, whose documents are for others than those of this root, with
    the name of their collection. They are left out of it, and so is every link to them."""
    audiences = _by_name(catalogue)
    own = catalogue.collection_audiences().get(root.collection, ())
    return {
        path: name
        for path, name in restricted_places(catalogue).items()
        if path != root.path and source.within(path, root.path) and audiences.get(name, ()) != own
    }


def _refuse_restricted_inside(catalogue: Roots, source: Source, uri: str, name: str, wanted: Wanted) -> None:
    """Raise if a repository holds a folder of restricted documents: it is read as a whole."""
    local, audiences = _local(uri), _by_name(catalogue)
    if not local or local == uri or wanted.audience is not None:
        return
    for path, collection in restricted_places(catalogue).items():
        theirs = _local(path)
        if theirs and is_within(theirs, local) and audiences[collection] != audiences.get(name, ()):
            who = audience_text(audiences[collection])
            raise ConfigError(
                f"{uri} holds {path}, which is in collection {collection!r}, for {who}",
                f"say who may see all of it: `--audience {who}`, or `--audience public`",
            )


def _lies_in(source: Source, uri: str, place: str) -> bool:
    """Whether an address is of a place or of a part of it, whichever source reads the one and the other."""
    if trimmed(uri) == trimmed(place) or source.within(uri, place):
        return True
    local, theirs = _local(uri), _local(place)
    return bool(local and theirs) and is_within(local, theirs)


def _local(uri: str) -> str:
    """The folder or file that an address is of; empty for one on another machine."""
    bare = uri.removeprefix("history+").removeprefix("git+").removeprefix("file://")
    if bare != uri:
        bare = bare.partition("?")[0].partition("#")[0]
        bare = bare if os.path.exists(bare) else bare.rpartition("@")[0] or bare  # the version comes last
    return trimmed(bare) if os.path.isabs(bare) else ""


# ---------------------------------------------------------------- showing and changing


def listed(index: Index) -> list[dict[str, Any]]:
    """Every collection, with its audience, and the number of its documents and roots."""
    with index.snapshot() as snapshot:
        audiences, counts = snapshot.collection_audiences(), snapshot.statistics().collections
        roots = [root.collection for root in snapshot.indexed_roots()]
    return [
        {
            "collection": name,
            "audience": audience_text(audiences.get(name, ())),
            "documents": counts.get(name, 0),
            "roots": roots.count(name),
        }
        for name in sorted({*counts, *audiences})
    ]


def change_audience(index: Index, settings: Settings, name: str, audience: Audience) -> bool:
    """Change who may see the documents of a collection; returns whether anything changed."""
    with open_for_writing(index, settings) as opened:
        catalogue = opened.catalogue
        known = {each: identity for identity, each in catalogue.collections().items()}
        if name not in known:
            raise NotFound(f"no collection called {name!r}", _known_hint(name, known))
        _refuse_registry(name)
        if catalogue.collection_audiences().get(known[name], ()) == audience:
            return False
        catalogue.set_audience(known[name], audience)
    return True


def _known_hint(name: str, known: Collection[str]) -> str:
    return "; ".join(filter(None, (nearest(name, list(known)), "`watersmeet collection` lists all")))
