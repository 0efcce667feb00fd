"""Slices of a root: files that any worker on the machine may read, while the one that scanned it waits and reads too.

What is missing, moved or changed is found out by the scan over the whole root, and a slice is only to be read. The end
of a slice is its commit: whoever has lost the job by then has committed nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from socket import gethostname
from threading import Event
from typing import cast

from watersmeet.core.errors import LeaseLost, SourceProblem, Stopped, WatersmeetError
from watersmeet.core.index import Index
from watersmeet.core.indexing import Found, Source
from watersmeet.core.queue import HasJobs, Job, Queue, SharingWriter
from watersmeet.core.writing import FileState, Writer
from watersmeet.engine.index.fingerprint import fingerprint
from watersmeet.engine.index.writer import writer_options
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.batch import Batch
from watersmeet.engine.sync.dates import Dates
from watersmeet.engine.sync.formats import Formats, ParserVersions
from watersmeet.engine.sync.jobs import LEASE_SECONDS, RETRY_SECONDS, leased
from watersmeet.engine.sync.report import SyncReport, cancellable
from watersmeet.engine.sync.root_sync import RootSync
from watersmeet.engine.sync.sources import Sources

FILES, BYTES = 64, 4_000_000
"""What a slice holds at most, of small roots."""
SLICES = 200
"""Of larger roots so many slices are made, of at most `MAX_FILES` files."""
MAX_FILES = 512
CHOOSING = frozenset({"include", "exclude", "recursive"})
"""Settings of a source by which only a scan goes."""
POLL_SECONDS = 0.1
RENEW_SECONDS = 0.5


def slice_kind(settings: Settings, index: Index) -> str:
    """The kind of job that a worker can do who is on the same machine, is the same user, and reads files alike."""
    sources = {
        name: {key: value for key, value in table.items() if key not in CHOOSING}
        for name, table in settings.tables.get("source", {}).items()
    }
    alike = (
        fingerprint(settings, index.format),
        {kind: settings.tables.get(kind, {}) for kind in ("parse", "chunk")},
        {name: table for name, table in sources.items() if table},
        settings.section("index").dates,
        ParserVersions.of(settings, None).now,
        os.getuid() if hasattr(os, "getuid") else "",
    )
    digest = hashlib.sha256(json.dumps(alike, sort_keys=True, default=str).encode()).hexdigest()
    return f"read@{gethostname()}#{digest[:12]}"


@dataclass(frozen=True, slots=True)
class Slice:
    """Files of a root to be read. `moved`: missing files with the content of one of these."""

    root: int
    listed_under: int
    again: bool
    outdated: tuple[str, ...]
    items: list[Found] = field(default_factory=list)
    moved: list[FileState] = field(default_factory=list)

    def to_json(self) -> str:
        def plain(value: object) -> str:
            return value.hex() if isinstance(value, bytes) else cast(datetime, value).isoformat()

        return json.dumps(asdict(self), default=plain)

    @classmethod
    def from_json(cls, text: str) -> Slice:
        made = json.loads(text)
        for item in made["items"]:
            item["modified"] = item["modified"] and datetime.fromisoformat(item["modified"])
            item["fields"] = tuple(map(tuple, item["fields"]))
        for state in made["moved"]:
            state["hash"] = bytes.fromhex(state["hash"])
        items, moved = [Found(**one) for one in made.pop("items")], [FileState(**one) for one in made.pop("moved")]
        return cls(**made | {"items": items, "moved": moved, "outdated": tuple(made["outdated"])})


def cut(items: Sequence[Found]) -> Iterator[list[Found]]:
    """The items in slices, in their order."""
    files = max(FILES, min(MAX_FILES, math.ceil(len(items) / SLICES)))
    part: list[Found] = []
    size = 0
    for item in items:
        own = _size(item)
        if part and (len(part) >= files or size + own > BYTES):
            yield part
            part, size = [], 0
        part.append(item)
        size += own
    if part:
        yield part


def _size(item: Found) -> int:
    try:
        return os.path.getsize(item.uri)
    except OSError:
        return 0


@dataclass(slots=True)
class SharedReading:
    """Reading of a root together with other workers, for the one who has scanned it."""

    index: Index
    settings: Settings
    formats: Formats
    lease: float = LEASE_SECONDS

    @classmethod
    def of(
        cls, index: Index, settings: Settings, formats: Formats, source: Source, catalogue: Writer
    ) -> SharedReading | None:
        """None for a generation that workers do not write to, and a source that others cannot read."""
        if not source.watchable or getattr(catalogue, "building", True) or getattr(catalogue, "beside", True):
            return None
        return cls(index, settings, formats)

    def read(self, run: RootSync, changed: Sequence[Found], moved: Mapping[str, FileState], until: float) -> int:
        """Have these files read; returns how many are left since the time is over. If it is interrupted, slices that
        nobody has finished are withdrawn, and what was committed stays. Raises if others have withdrawn them."""
        queue, catalogue = cast(HasJobs, self.index).queue(), cast(SharingWriter, run.catalogue)
        own = f"{run.root.id}/"
        queue.withdraw(own)  # of one who was killed: whoever has the lease of the root reads it
        reading = _Reading(self, queue, run, slice_kind(self.settings, self.index), f"{own}{secrets.token_hex(4)}/")
        listed_under, slices = catalogue.listed_under(run.root.id), {}
        for number, part in enumerate(cut(changed)):
            states = [moved[item.name] for item in part if item.name in moved]
            made = Slice(run.root.id, listed_under, run.again, (*run.outdated,), part, states)
            slices[f"{reading.batch}{number:06}"] = made.to_json()
            reading.left[f"{reading.batch}{number:06}"] = part
        queue.offer_all(reading.kind, slices)
        try:
            with catalogue.resting():
                reading.work(until)
        finally:
            with suppress(WatersmeetError):
                queue.withdraw(reading.batch)
        if reading.withdrawn:
            raise SourceProblem(
                f"{run.root.path} was taken out of the index meanwhile, or another process reads it",
                "sync it again if it belongs there",
            )
        return sum(map(len, reading.left.values()))


@dataclass(slots=True)
class _Reading:
    """One root that is being read. `left`: slices that nobody has finished, by key; `withdrawn`: nobody will."""

    by: SharedReading
    queue: Queue
    run: RootSync
    kind: str
    batch: str
    left: dict[str, list[Found]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    renewed: float = 0.0
    withdrawn: bool = False

    def work(self, until: float) -> None:
        while self.left and not self.withdrawn and time.monotonic() <= until:
            job = self.queue.take([self.kind], self.by.lease)
            if job is not None:
                self._do(job)
            results = self.queue.results(self.batch, self.done)
            for key, result in sorted(results.items()):
                self.done.add(key)
                items = self.left.pop(key)
                self.run.add(json.loads(result), {item.name: item for item in items})
                self.run.committed(len(items))
            self._renew()
            if job is None and not results:
                self.run.committed(0)  # nothing new, but a chance to stop
                time.sleep(POLL_SECONDS)
                self.withdrawn = self._are_withdrawn()

    def _are_withdrawn(self) -> bool:
        """Whether there are neither slices nor new results."""
        return not any(self.queue.counts([self.kind]).values()) and not self.queue.results(self.batch, self.done)

    def _do(self, job: Job) -> None:
        with leased(self.queue, job, self.by.lease) as over:
            try:
                read_slice(self.by.index, self.by.settings, self.by.formats, job, over, self._renew)
            except (LeaseLost, Stopped):  # another does it
                pass
            except BaseException as error:
                own = job.key.startswith(self.batch)
                with suppress(WatersmeetError):
                    self.queue.give_back(job, str(error), 0 if own else RETRY_SECONDS)
                if own or not isinstance(error, WatersmeetError | OSError):
                    raise

    def _renew(self) -> None:
        """Show those who wait for the root that it is being read."""
        if time.monotonic() - self.renewed > RENEW_SECONDS:
            self.run.catalogue.renew()
            self.renewed = time.monotonic()


def read_slice(
    index: Index,
    settings: Settings,
    formats: Formats,
    job: Job,
    over: Event,
    going_on: Callable[[], None] = lambda: None,
) -> None:
    """Read the files of a slice and commit what is in them, which ends the job. `over`: to stop before that; `going_on`
    is called before each file."""
    part = Slice.from_json(job.content)
    giving = [state.id for state in part.moved]
    with cast(HasJobs, index).job_writer(writer_options(index, settings), job, giving) as catalogue:
        roots = catalogue.roots()
        root = next((one for one in roots if one.id == part.root), None)
        if root is None:
            cast(HasJobs, index).queue().withdraw(job.key)
            raise LeaseLost("what is being read was taken out of the index meanwhile", "nothing is to be done")
        batch = Batch(catalogue, settings.section("writer").batch_chunks, math.inf)
        source = Sources(settings).of(root.kind)
        run = RootSync(
            catalogue=catalogue,
            batch=batch,
            source=source,
            formats=formats,
            report=SyncReport(),
            progress=cancellable(over, lambda _: going_on()),
            root=root,
            others=[other for other in roots if other.id != root.id],
            dates=Dates(settings.section("index").dates, source.dating(part.items)),
            again=part.again,
            outdated=frozenset(part.outdated),
        )
        batch.refused = run.refused
        catalogue.result = lambda refused: json.dumps(run.result(refused))
        states = catalogue.files_named(root.id, [item.name for item in part.items], part.listed_under)
        run.read(part.items, states, part.moved)
