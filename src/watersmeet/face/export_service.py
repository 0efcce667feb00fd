"""The service of an export: read-only, and it goes on with a new export that has replaced the one it has open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.core.errors import WatersmeetError
from watersmeet.engine.export.manifest import FILE
from watersmeet.engine.export.opening import open_export
from watersmeet.engine.query.visibility import visible_to
from watersmeet.face.readiness import Readiness
from watersmeet.face.service import Service

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import ProgressCallback

T = TypeVar("T")


class ExportService(Service):
    """A service whose index is the content of an export. Before each request it looks at the manifest; a request that
    fails because its files were replaced meanwhile runs again on the new ones."""

    is_export = True

    def __init__(
        self, folder: str, flags: Mapping[str, Any] | None = None, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._folder = os.path.abspath(folder)
        self._flags = flags or {}
        self._say = say
        self._opening = Lock()
        self._stamp = self._manifest_stamp()
        engine, self.manifest = open_export(self._folder, self._flags)
        self._former: Engine | None = None
        super().__init__(engine, allow_write=False, say=say)

    def close(self) -> None:
        if self._former is not None:
            self._former.close()
        super().close()

    async def run(
        self,
        call: Callable[[Event], T],
        writes: bool = False,
        answers: bool = False,
        progress: ProgressCallback = lambda _: None,
        seconds: float | None = None,
    ) -> T:
        def on_current_files(stop: Event) -> T:
            self.follow()
            try:
                return call(stop)
            except WatersmeetError:
                if answers or not self.follow():  # a part of an answer may have been sent
                    raise
                return call(stop)

        return await super().run(on_current_files, writes, answers, progress, seconds)

    def ready(self) -> Readiness:
        self.follow()
        return super().ready()

    def follow(self) -> bool:
        """Open the new export if the manifest has changed. If that one cannot be opened, the open one stays."""
        if self._manifest_stamp() == self._stamp:
            return False
        with self._opening:
            stamp = self._manifest_stamp()
            if stamp == self._stamp:
                return True  # another thread was faster
            try:
                engine, manifest = open_export(self._folder, self._flags)
            except WatersmeetError as problem:
                self._stamp = stamp
                self._say(f"the new export cannot be served, the one before goes on: {problem}")
                return False
            former, self._former = self._former, self.engine
            self.engine, self.manifest, self._stamp = engine, manifest, stamp
            if former is not None:
                former.close()  # the one before the last: requests of the last may still be running
        return True

    def _manifest_stamp(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(os.path.join(self._folder, FILE))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    # ------------------------------------------------------------ requests

    def sources(self, viewer: Viewer, offset: int, limit: int) -> dict[str, Any]:
        """Where the documents came from, and the documents themselves, a page at a time."""
        documents = self.documents(viewer)
        with self.engine.snapshot() as snapshot:
            roots = snapshot.statistics(visible_to(viewer)).roots
        return {
            "sources": [{"source": root} for root in roots],
            "documents": documents[offset : offset + limit],
            "total": len(documents),
        }

    def stats(self, viewer: Viewer) -> dict[str, Any]:
        """Figures of the export: counts, signals, and the settings that change how it ranks."""
        found = self.status(viewer)
        pipeline = self.engine.settings.section("pipeline")
        return {
            "documents": found["documents"],
            "chunks": found["chunks"],
            "kinds": found["kinds"],
            "signals": found["signals"],
            "size_bytes": found["size_bytes"],
            "recipe": self.engine.settings.recipe,
            "query_classification": pipeline.query_classification,
            "fusion": pipeline.fusion,
            "made": self.manifest.made,
            "watersmeet": self.manifest.watersmeet,
        }
