"""`Client`: the methods of `Engine`, over HTTP."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from watersmeet.client.decode import decoded, decoded_report
from watersmeet.client.registry import ClientRegistry
from watersmeet.client.transport import ADDRESS, Transport, segment
from watersmeet.core.errors import ConfigError, NoReply, WatersmeetError
from watersmeet.core.model import Answer, Request
from watersmeet.engine.sync.report import Progress

if TYPE_CHECKING:
    from watersmeet.common.http import Cancellation
    from watersmeet.engine.ask.model import AnswerText, Turn
    from watersmeet.engine.query.classification import Classification
    from watersmeet.engine.query.why_not import WhyNot
    from watersmeet.engine.sync.report import ProgressCallback, SyncReport

PAGE = 1000
"""Documents in one page of their list."""
REMOVED_AT_ONCE = 100
JOB_SECONDS = 0.2
"""Pause before a job is asked after again."""


class Client:
    """A client of `watersmeet serve`, with the methods of `Engine`. Threads may share one; it keeps no connection.

    `token`: who asks; needed unless the server is on this machine. `timeout`: seconds for a read; writes and answers of
    models have longer. `retries`: how often a read is sent again if the connection breaks; writes never are.
    """

    def __init__(self, url: str = ADDRESS, *, token: str = "", timeout: float = 30.0, retries: int = 2) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{url!r} is not the address of a server", f"for example {ADDRESS}")
        self._transport = Transport(url.rstrip("/"), token, timeout, retries)
        self.registry = ClientRegistry(self._transport)
        """The registry of servers, tools, agents and skills."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._transport.url

    def close(self) -> None:
        """Does nothing: each request has a connection of its own. It is here as `Engine.close` is."""

    def _cancelled_by(self, cancellation: Cancellation) -> Client:
        """The same client for one call, which can be cancelled from another thread."""
        made = object.__new__(Client)
        made._transport = self._transport.cancelled_by(cancellation)
        made.registry = ClientRegistry(made._transport)
        return made

    # ------------------------------------------------------------ writing

    def sync(
        self,
        paths: Sequence[str | os.PathLike[str]] = (),
        *,
        now: bool = False,
        dry_run: bool = False,
        confirm: bool = False,
        progress: ProgressCallback | None = None,
    ) -> SyncReport:
        """Bring the index of the server up to date with these paths of its machine, which must be in folders that it
        covers; without paths, with all that it covers. The server must allow writing.

        `now`: also read network roots that were read recently. `dry_run`: write nothing, and report what would be
        added, changed and removed. `confirm`: embed even if that costs more than `index.confirm_above` of the server;
        else that is an error, with the words in the index. `progress`: called while it runs; it is then a job of the
        server, which goes on if this call is cancelled."""
        body = {"paths": [os.fspath(path) for path in paths], "now": now, "dry_run": dry_run}
        if confirm:
            body["confirm"] = True
        if progress is None:
            return decoded_report(self._transport.write("POST", "/api/sync", body))
        job = self._transport.write("POST", "/api/sync", {**body, "wait": False})
        while job["state"] in ("waiting", "running"):
            time.sleep(JOB_SECONDS)
            job = self._transport.read(f"/api/jobs/{segment(job['job'])}")
            if job["doing"]:
                progress(decoded(Progress, job))
        if job["problem"]:
            raise WatersmeetError(job["problem"]["detail"], job["problem"]["hint"])
        return decoded_report(job["report"])

    def remove(self, ids: Sequence[str] | str) -> int:
        """Remove documents, or a whole folder. The next sync of the folder adds back files that still exist. The server
        must allow writing."""
        named = [ids] if isinstance(ids, str) else list(ids)
        batches = [named[start : start + REMOVED_AT_ONCE] for start in range(0, len(named), REMOVED_AT_ONCE)]
        return sum(self._transport.write("POST", "/api/remove", {"ids": batch})["removed"] for batch in batches)

    # ------------------------------------------------------------ reading

    def search(self, /, request: Request | str, **options: Any) -> Answer:
        """Rank passages for a query, best first, with evidence for each and the components that failed.

        `options` are fields of `Request`, or `filters`, `exclude`, `since` and `before` in place of a condition:
        `client.search("how do I deploy?", top_n=3, filters={"tag": "setup"}, since="7d")`.
        """
        from watersmeet.client.requests import search_body

        return decoded(Answer, self._transport.read("/api/search", body=search_body(request, options)))

    def ask(
        self,
        /,
        question: str,
        *,
        on_text: Callable[[str], None] | None = None,
        budget: int | None = None,
        history: Sequence[Turn] = (),
        **options: Any,
    ) -> AnswerText:
        """Answer a question from the documents, with checked citations, or say that they do not answer it.

        `on_text`: called with each further part of the text, a statement or more. `budget`: tokens of the passages.
        `history`: the turns before, for a follow-up question. `options`: `filters`, as for `search`."""
        from watersmeet.client.requests import condition_fields
        from watersmeet.engine.ask.model import AnswerText, last_turns
        from watersmeet.engine.query.filters import condition

        for name in options:
            if name != "filters":
                raise ConfigError(f"a server's answers have no option {name!r}", "of a search, they take `filters`")
        body = {"question": question, "budget": budget, "history": [one.to_json() for one in last_turns(history)]}
        body |= condition_fields(condition(options.get("filters") or ()))
        for name, value in self._transport.stream("/api/chat", {**body, "stream": True}):
            if name == "text" and on_text is not None:
                on_text(value["text"])
            if name == "answer":
                return decoded(AnswerText, value)
        raise NoReply(f"{self.url} ended before the answer was whole", "ask again")

    def why_not(self, request: Request, document: str) -> WhyNot:
        """Why a document is not in the results: the step that dropped it, and signal weights that would include it."""
        from watersmeet.client.requests import search_body
        from watersmeet.engine.query.why_not import WhyNot

        body = {**search_body(request, {}), "why_not": document}
        return decoded(WhyNot, self._transport.read("/api/search", body=body)["why_not"])

    def classify(self, query: str) -> Classification:
        """The kind of a query, with a suggested mode and top_n."""
        from watersmeet.engine.query.classification import Classification

        return decoded(Classification, self._transport.read("/api/classify", {"query": query}))

    def related(self, identity: str, top_n: int = 10) -> Answer:
        """Documents that link to this one or are linked from it; `identity` is as for `get`."""
        return decoded(Answer, self._transport.read(f"/api/related/{segment(identity)}", {"top_n": top_n}))

    def get(self, identity: str) -> dict[str, Any]:
        """A document or one chunk, by its id, its file path or an unambiguous name."""
        return dict(self._transport.read(f"/api/documents/{segment(identity)}"))

    def documents(self, /, *, sort: str = "path", **filters: Any) -> list[dict[str, Any]]:
        """The documents: id, kind, title, date and number of chunks of each. `filters`: `filters`, `exclude`, `since`
        and `before`, as for `search`. `sort`: path, title or modified."""
        from watersmeet.client.requests import list_query

        query, found = {**list_query(filters), "sort": sort}, list[dict[str, Any]]()
        while True:
            page = self._transport.read("/api/documents", {**query, "limit": PAGE, "offset": len(found)})
            found += page["documents"]
            if not page["documents"] or len(found) >= page["total"]:
                return found

    def tags(self, /, *, prefix: str = "", **filters: Any) -> list[dict[str, Any]]:
        """The tags with the number of their documents, the commonest first; `filters` as for `documents`."""
        from watersmeet.client.requests import list_query

        found: list[dict[str, Any]] = self._transport.read("/api/tags", {**list_query(filters), "prefix": prefix})[
            "tags"
        ]
        return found

    def status(self) -> dict[str, Any]:
        """Counts of the index, and the coverage of each signal."""
        return dict(self._transport.read("/api/status"))

    def roots(self) -> list[dict[str, Any]]:
        """The folders and addresses that the index covers: their kind, documents, age, and last problem."""
        found: list[dict[str, Any]] = self._transport.read("/api/roots")["roots"]
        return found

    def audit(self, since: str = "", limit: int = 1000) -> list[dict[str, Any]]:
        """Who changed what, newest first: registered entities, syncs, removals, tokens. `since`: 7d or 2026-01-31."""
        query = {"limit": limit, **({"since": since} if since else {})}
        found: list[dict[str, Any]] = self._transport.read("/api/audit", query)["entries"]
        return found

    def check(self) -> None:
        """Raise if there is no server, or its index cannot be searched."""
        self._transport.read("/ready")
