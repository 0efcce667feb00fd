"""The audit log: who changed what, and when. Names of entities, documents, roots and tokens; no texts, no queries.

Each change has a line when it begins and one when it ends, each on disk before the next step. So a process that is
killed leaves no change without a line, and nothing is acknowledged that has no second one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from watersmeet.common.dates import parse_date
from watersmeet.common.redaction import shown
from watersmeet.core.actor import current_actor
from watersmeet.core.files import make_private, private
from watersmeet.core.index import FROZEN
from watersmeet.core.model import DocId
from watersmeet.engine.query.visibility import is_limited, visible_to
from watersmeet.engine.settings.settings import config_folder

if TYPE_CHECKING:
    from watersmeet.core.index import ReadableIndex
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import SyncReport

FILE = "audit.jsonl"
MAX_TARGETS = 100
"""Names that an entry has at most; `count` has their number."""
BEGUN, DONE, FAILED = "begun", "done", "failed"


def log_of(index: ReadableIndex) -> str:
    """The log of an index: in its folder, or for one that is in no folder in that of the user's settings."""
    if "://" not in index.place:
        return os.path.join(index.place, FILE)
    name = hashlib.blake2b(index.place.encode(), digest_size=8).hexdigest()
    return os.path.join(config_folder(), f"audit-{name}.jsonl")


def log_of_tokens() -> str:
    return os.path.join(config_folder(), FILE)


@contextmanager
def audited(index: ReadableIndex, action: str, targets: Sequence[str], **detail: Any) -> Iterator[dict[str, Any]]:
    """Log the change that the block makes; it fills in the result: the numbers of what was changed."""
    path, result = log_of(index), dict[str, Any]()
    made = entry(action, targets, **detail)
    if _can_log(path):  # else the change makes the index, or is refused
        append(path, {**made, "state": BEGUN})
    try:
        yield result
    except BaseException as error:
        if _can_log(path):
            append(path, {**made, "state": FAILED, "result": {"error": type(error).__name__}})
        raise
    append(path, {**made, "state": DONE, "result": result})


def _can_log(path: str) -> bool:
    """Whether there is a folder for the log that can be written, and is not that of a copy that never is. If not, the
    change itself says why it is refused."""
    folder = os.path.dirname(path)
    place = path if os.path.lexists(path) else folder
    return os.access(place, os.W_OK) and not os.path.lexists(os.path.join(folder, FROZEN))


def note(path: str, action: str, targets: Sequence[str], **result: Any) -> None:
    """Log a change that is made."""
    append(path, {**entry(action, targets), "state": DONE, "result": result})


def note_sync(index: ReadableIndex, paths: Sequence[str | os.PathLike[str]], report: SyncReport) -> None:
    """Log a sync that changed something."""
    counts = {name: getattr(report, name) for name in ("added", "changed", "moved", "removed")}
    if any(counts.values()):
        note(log_of(index), "sync", [os.fspath(path) for path in paths], **counts)


def entry(action: str, targets: Sequence[str], **detail: Any) -> dict[str, Any]:
    named = [(shown(target) if "://" in target else target)[:500] for target in map(str, targets[:MAX_TARGETS])]
    return {
        "id": secrets.token_hex(6),
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "action": action,
        "by": current_actor().to_json(),
        "targets": named,
        "count": len(targets),
        **({"detail": detail} if detail else {}),
    }


def append(path: str, line: Mapping[str, Any]) -> None:
    """Add a line, which is on disk when this returns. A line that a crash cut off is closed first."""
    new = not os.path.exists(path)
    if new:
        make_private(os.path.dirname(path))
    descriptor = private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        torn = False
        if os.fstat(descriptor).st_size:
            os.lseek(descriptor, -1, os.SEEK_END)  # it appends wherever it is
            torn = os.read(descriptor, 1) != b"\n"
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        os.write(descriptor, (b"\n" if torn else b"") + text.encode("utf8", "replace") + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if new:
        _sync_folder(os.path.dirname(path))


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not every system can
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def entries(path: str) -> list[dict[str, Any]]:
    """The changes in a log, oldest first, each once with its last state; `begun`: it did not end, or not yet."""
    found: dict[str, dict[str, Any]] = {}
    try:
        with open(path, encoding="utf8", errors="replace") as lines:
            for line in lines:
                with suppress(ValueError, KeyError, TypeError):
                    one = json.loads(line)
                    found[one["id"]] = {**found.get(one["id"], {}), **one}
    except FileNotFoundError:
        return []
    return [one for one in found.values() if _is_sound(one)]


def _is_sound(one: Mapping[str, Any]) -> bool:
    """Whether an entry has what it must have: a damaged line hides no other."""
    with suppress(ValueError, KeyError, TypeError):
        dated = datetime.fromisoformat(one["at"]).tzinfo is not None
        kinds = (("by", dict), ("targets", list), ("count", int), ("action", str), ("state", str))
        return dated and all(isinstance(one[name], kind) for name, kind in kinds)
    return False


def audit(
    engine: Engine,
    since: str = "",
    limit: int = 1000,
    viewer: Viewer | None = None,
    token: str = "",
) -> list[dict[str, Any]]:
    """The last changes, newest first: of the index, and for its owner of the tokens. A viewer who may not see
    everything gets those made with the same token or by the same user, and those of what they may see now."""
    found = entries(log_of(engine.index))
    if not is_limited(viewer):
        found = sorted([*found, *entries(log_of_tokens())], key=lambda one: str(one.get("at")))
    if since:
        moment = parse_date(since)
        found = [one for one in found if datetime.fromisoformat(one["at"]) >= moment]
    if is_limited(viewer) and viewer is not None:
        found = _allowed(engine, found, viewer, token)
    return found[::-1][:limit]


def _allowed(engine: Engine, found: list[dict[str, Any]], viewer: Viewer, token: str) -> list[dict[str, Any]]:
    names = {DocId(target) for one in found for target in one["targets"]}
    seen: Collection[str] = ()
    if names and engine.index.exists():
        with engine.snapshot() as snapshot:
            seen = snapshot.only(names, visible_to(viewer))

    def own(one: Mapping[str, Any]) -> bool:
        by = one["by"]
        if not by.get("token"):  # by a program on this machine: its user is another kind of name
            return False
        return by["token"] == token or bool(viewer.user and by.get("user") == viewer.user)

    return [
        one
        for one in found
        if own(one) or (one["targets"] and len(one["targets"]) == one["count"] and {*one["targets"]} <= {*seen})
    ]
