"""Review of descriptions, which steer agents: one that has changed, or that reads like instructions, is flagged until
somebody has read it.

Of a changed description the hash is kept, with the text before. It is written before the change is committed, and
counts for the text with that hash only: a process that is killed in between flags nothing wrongly and misses nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from watersmeet.core.bidi import BIDI_CONTROLS
from watersmeet.core.entities import TOOL, Entity, Tool, audience, entity_of, tool_audience, tool_of
from watersmeet.core.errors import ConfigError, NotRegistered
from watersmeet.core.index import Index, State
from watersmeet.core.visibility import Viewer
from watersmeet.engine.index.state_names import REVIEWS
from watersmeet.engine.query.visibility import is_limited

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

CHANGED = "changed since it was registered"
LOCK_SECONDS = 5.0
MAX_KEPT_CHARS = 4_000
"""Characters of the earlier description that are kept."""
MAX_CHECKED_CHARS = 50_000
TOO_LONG = f"is longer than the {MAX_CHECKED_CHARS:,} characters that are checked"
MAX_DEPTH = 20
_ANY_CASE = re.IGNORECASE
_SUSPICIOUS = (
    (
        "tells agents to ignore instructions",
        re.compile(
            r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rules|guidelines)\b",
            _ANY_CASE,
        ),
    ),
    (
        "asks to keep something from the user",
        re.compile(
            r"\b(?:not|don't|never|without)\b[^.\n]{0,20}"
            r"\b(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|reveal)\b[^.\n]{0,20}\buser\b",
            _ANY_CASE,
        ),
    ),
    (
        "has tags that address a model",
        re.compile(
            r"<(?:important|system|instructions?|secret|hidden|critical|assistant)\b[^<>]{0,40}>",
            _ANY_CASE,
        ),
    ),
    (
        "names files with secrets",
        re.compile(r"\.ssh/|\bid_rsa\b|\.aws/credentials|/etc/(?:passwd|shadow)|\.cursor/mcp\.json", _ANY_CASE),
    ),
    (
        "wants to be called before or instead of other tools",
        re.compile(
            r"\b(?:before|instead of)\b[^.\n]{0,25}\b(?:any|all|every|other)\b[^.\n]{0,12}\btools?\b", _ANY_CASE
        ),
    ),
    ("has invisible characters", re.compile(f"[\u200b\u2060-\u2064\U000e0000-\U000e007f{BIDI_CONTROLS}]")),
)
"""What a description that addresses an agent has, and how to say it."""


def parts(entity: Entity) -> Iterator[tuple[str, str]]:
    """The texts of an entity that steer agents, by id: its own under its path, those of its tools under PATH#TOOL."""
    abilities = [text for ability in entity.skills for text in (ability.name, ability.description)]
    yield entity.path, "\n".join([entity.description, *abilities, entity.body]).strip()
    for tool in entity.tools:
        yield f"{entity.path}#{tool.name}", _tool_text(tool)


def _tool_text(tool: Tool) -> str:
    return "\n".join([tool.description, *_described(tool.schema)]).strip()


def _described(schema: Any, depth: int = 0) -> Iterator[str]:
    """All descriptions inside a schema: agents read them too."""
    if depth > MAX_DEPTH:
        return
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("description", "title") and isinstance(value, str):
                yield value
            else:
                yield from _described(value, depth + 1)
    elif isinstance(schema, list | tuple):
        for one in schema:
            yield from _described(one, depth + 1)


def text_hash(text: str) -> str:
    return blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).hexdigest()


def suspicious(text: str) -> tuple[str, ...]:
    """What in a description reads like instructions to an agent; a long one may have them where nobody looks."""
    too_long = (TOO_LONG,) if len(text) > MAX_CHECKED_CHARS else ()
    return (*_suspicious(text[:MAX_CHECKED_CHARS]), *too_long)


@lru_cache(maxsize=4096)
def _suspicious(text: str) -> tuple[str, ...]:
    return tuple(reason for reason, pattern in _SUSPICIOUS if pattern.search(text))


class Reviews:
    """What was changed and what was accepted, of an index."""

    def __init__(self, index: Index) -> None:
        self._state = index.state(REVIEWS)
        self._found = _cached(self._state, self._state.version())

    def reasons(self, entity: Entity, tool: Tool | None = None) -> tuple[str, ...]:
        """Why the description of an entity, or of one of its tools, should be read; empty if there is no reason."""
        if tool is not None:
            return self.reasons_of(f"{entity.path}#{tool.name}", _tool_text(tool))
        return self.reasons_of(*next(parts(entity)))

    def reasons_of(self, identity: str, text: str) -> tuple[str, ...]:
        changed = self._found["changed"].get(identity)
        accepted = self._found["accepted"].get(identity)
        if not (changed or accepted):
            return suspicious(text)
        now = text_hash(text)
        if accepted == now:
            return ()
        return (*([CHANGED] if changed and changed["now"] == now else []), *suspicious(text))

    def before(self, identity: str, readers: Sequence[str] | None) -> str | None:
        """The text before a change, if those who may see the present one could see it; `readers` None: the owner."""
        found = self._found["changed"].get(identity)
        same = found is not None and (readers is None or found.get("readers") == [*readers])
        return found["before"] if found and same else None

    def flag(self, changes: Mapping[str, dict[str, Any]]) -> None:
        """Flag changed descriptions. One that changes again keeps the text before the first change; one that changes
        back is not changed."""
        with self._state.changing(LOCK_SECONDS) as state:
            found = _read(state.read())
            for identity, change in changes.items():
                first = found["changed"].get(identity)
                if first and first["now"] == change["was"] and found["accepted"].get(identity) != change["was"]:
                    change = {**first, "now": change["now"]}
                found["changed"].pop(identity, None)
                if change["was"] != change["now"]:
                    found["changed"][identity] = change
            state.write(json.dumps(found, ensure_ascii=False).encode("utf8", "replace"))
        self._found = found

    def accept(self, identity: str, hash: str) -> None:
        with self._state.changing(LOCK_SECONDS) as state:
            found = _read(state.read())
            found["accepted"][identity] = hash
            found["changed"].pop(identity, None)
            state.write(json.dumps(found, ensure_ascii=False).encode("utf8", "replace"))
        self._found = found


@lru_cache(maxsize=16)
def _cached(state: State, version: object) -> dict[str, dict[str, Any]]:
    """The value of a state; it is read again when its version changes."""
    return _read(state.read() if version is not None else None)


def _read(content: bytes | None) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(content or b"{}")
        return {name: dict(found.get(name, {})) for name in ("changed", "accepted")}
    except (ValueError, AttributeError, TypeError):
        return {"changed": {}, "accepted": {}}


def changes(before: Entity, after: Entity) -> dict[str, dict[str, Any]]:
    """Descriptions that differ, with the text before and who could read it."""
    former, readers = dict(parts(before)), _readers(before)
    return {
        identity: {
            "was": text_hash(former[identity]),
            "now": text_hash(text),
            "before": former[identity][:MAX_KEPT_CHARS],
            "readers": [*readers[identity]],
        }
        for identity, text in parts(after)
        if identity in former and former[identity] != text
    }


def _readers(entity: Entity) -> dict[str, tuple[str, ...]]:
    """Who may read each of the texts of an entity."""
    tools = {f"{entity.path}#{tool.name}": tool_audience(tool, entity) for tool in entity.tools}
    return {entity.path: audience(entity), **tools}


def review(engine: Engine, viewer: Viewer | None = None) -> list[dict[str, Any]]:
    """The descriptions that should be read, with their hashes, reasons, and the text before a change."""
    reviews, found = Reviews(engine.index), []
    for identity, (text, readers) in sorted(_texts(engine, viewer).items()):
        reasons = reviews.reasons_of(identity, text)
        if reasons:
            before = reviews.before(identity, readers if is_limited(viewer) else None) if CHANGED in reasons else None
            found.append(
                {"id": identity, "hash": text_hash(text), "reasons": list(reasons), "text": text, "before": before}
            )
    return found


def _texts(engine: Engine, viewer: Viewer | None) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The texts that steer agents, of all entities and tools that the viewer may see, each with who may read it."""
    from watersmeet.engine.registry.listing import EVERYTHING, listing

    entities = {one["path"]: entity_of(one) for one in listing(engine, "", "", viewer, **EVERYTHING)}
    texts = {
        identity: (text, _readers(entity)[identity]) for entity in entities.values() for identity, text in parts(entity)
    }
    for one in listing(engine, TOOL, "", viewer, **EVERYTHING):  # servers do not list those that not all may see
        tool, server = tool_of(one), entities.get(one["server"])
        if server is not None:  # else it was unregistered just now
            texts[f"{server.path}#{tool.name}"] = _tool_text(tool), tool_audience(tool, server)
    return texts


def accept(engine: Engine, identity: str, hash: str, viewer: Viewer | None = None) -> None:
    """Accept a description as it was read: with the hash that `review` shows."""
    path = engine.registry.spelled(identity.partition("#")[0], viewer)
    wanted, known = path + "".join(identity.partition("#")[1:]), _texts(engine, viewer)
    if wanted not in known:
        raise NotRegistered(f"nothing is registered as {identity!r}", "`watersmeet review` lists what is to be read")
    if text_hash(known[wanted][0]) != hash:
        raise ConfigError(
            f"the description of {identity} is not the one with the hash {hash[:40]!r}",
            "it may have changed since: `watersmeet review` shows it as it is",
        )
    Reviews(engine.index).accept(wanted, hash)
