"""MCP resources: documents as a list, and by templates documents, chunks and searches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from watersmeet.core.errors import ConfigError, NotFound, WatersmeetError
from watersmeet.core.visibility import Viewer
from watersmeet.face.crash_log import log_server_crash
from watersmeet.face.mcp.tools.documents import reply_text, search_reply
from watersmeet.face.search import SearchParams
from watersmeet.face.service import Service, check_query
from watersmeet.face.tokens import Caller

Context = ServerRequestContext[Any, Any]
PREFIX = "watersmeet://"
MARKDOWN = "text/markdown"
PAGE = 100
MAX_COMPLETIONS = 100
"""As many as the protocol allows."""
DOCUMENT, CHUNK, SEARCH = (f"{PREFIX}{name}/" for name in ("document", "chunk", "search"))
TEMPLATES = {
    DOCUMENT + "{+id}": ("document", "A document, by its id from `search`"),
    CHUNK + "{id}": ("chunk", "One passage, by the `id` of a search result"),
    SEARCH + "{query}": ("search", "The passages that answer a query"),
}
"""Name and description of each template."""


class Resources:
    """The handlers of resources. `who` gives the caller of a request."""

    def __init__(self, service: Service, who: Callable[[Context], Caller]) -> None:
        self._service = service
        self._who = who

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params and params.cursor else "0"
        if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 12:
            raise MCPError(types.INVALID_PARAMS, "no such page")
        start = int(cursor)
        found = await self._documents(context)
        resources = [
            types.Resource(
                uri=DOCUMENT + quote(one["document"], safe="/"),
                name=one["document"],
                title=one["title"],
                mime_type=MARKDOWN,
            )
            for one in found[start : start + PAGE]
        ]
        more = str(start + PAGE) if start + PAGE < len(found) else None
        return types.ListResourcesResult(resources=resources, next_cursor=more)

    async def list_templates(self, _: Context, __: object) -> types.ListResourceTemplatesResult:
        templates = [
            types.ResourceTemplate(uri_template=uri, name=name, description=about, mime_type=MARKDOWN)
            for uri, (name, about) in TEMPLATES.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        start = next((one for one in (DOCUMENT, CHUNK, SEARCH) if uri.startswith(one) and len(uri) > len(one)), "")
        if not start:
            raise MCPError(types.INVALID_PARAMS, f"no resource called {uri!r}; resources begin with {DOCUMENT}")
        value, viewer = unquote(uri.removeprefix(start)), self._who(context).viewer

        def work(stop: Event) -> str:
            return self._found(value, viewer, stop) if start == SEARCH else self._text(value, viewer)

        text = types.TextResourceContents(
            uri=uri, mime_type=MARKDOWN, text=await as_protocol_error(self._service.run(work))
        )
        return types.ReadResourceResult(contents=[text])

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Ids of documents, for the template of documents: those that begin with the value, then those that hold it."""
        if not isinstance(params.ref, types.ResourceTemplateReference) or params.ref.uri != DOCUMENT + "{+id}":
            return types.CompleteResult(completion=types.Completion(values=[]))
        value = params.argument.value.casefold()
        ids = [one["document"] for one in await self._documents(context)]
        fitting = sorted(
            (one for one in ids if value in one.casefold()), key=lambda one: one.casefold().find(value) > 0
        )
        shown = fitting[:MAX_COMPLETIONS]
        completion = types.Completion(values=shown, total=len(fitting), has_more=len(fitting) > len(shown))
        return types.CompleteResult(completion=completion)

    async def _documents(self, context: Context) -> list[dict[str, Any]]:
        viewer = self._who(context).viewer
        found: list[dict[str, Any]] = await as_protocol_error(
            self._service.run(lambda _: self._service.documents(viewer))
        )
        return found

    def _text(self, identity: str, viewer: Viewer) -> str:
        return str(self._service.get(identity, viewer)["text"])

    def _found(self, query: str, viewer: Viewer, stop: Event) -> str:
        check_query(query)
        return reply_text(search_reply(self._service, SearchParams(query), viewer, stop))


async def as_protocol_error(work: Awaitable[Any]) -> Any:
    """Errors in the form of the protocol."""
    try:
        return await work
    except (ConfigError, NotFound) as error:
        raise MCPError(types.INVALID_PARAMS, f"{error}; {error.hint}") from error
    except WatersmeetError as error:
        raise MCPError(types.INTERNAL_ERROR, f"{error}; {error.hint}") from error
    except Exception as error:  # noqa: BLE001 - the outermost handler; the error's message may hold a query
        raise MCPError(types.INTERNAL_ERROR, f"unexpected: {type(error).__name__}; {log_server_crash(error)}") from None
