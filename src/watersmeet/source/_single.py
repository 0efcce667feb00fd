"""One page by its address, and the second reading of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from posixpath import splitext

from watersmeet.core.errors import NoReply, SourceProblem
from watersmeet.core.indexing import Found, Gone, Offer, Same, Skipped, SourceRoot, Whole
from watersmeet.source._content import CrawlOptions, Held, Stamp, content_of, date_of, media_of, stamp_of
from watersmeet.source._discovery import DISALLOWED, ROBOTS_HINT
from watersmeet.source._fetcher import Fetcher, Later
from watersmeet.source._llms import FULL, parts_of_full


def single(
    options: CrawlOptions, root: SourceRoot, known: Mapping[str, str], fetcher: Fetcher, held: Held
) -> Iterator[Offer]:
    """Offer the one page of an address."""
    from watersmeet.source.site import page_name

    name = page_name(root.uri)
    stamp = Stamp.read(known.get(name) or root.reread.get(name, ""))
    fetcher.read_robots("/".join(root.uri.split("/", 3)[:3]))
    if not fetcher.allows(root.uri):
        raise SourceProblem(f"{root.uri}: {DISALLOWED}", ROBOTS_HINT)
    reply = fetcher.request(root.uri, None if root.reread else stamp.version, follow=True)
    if reply.status == 304:
        yield Same(name, str(stamp.present) if stamp.misses else "")
    elif reply.status in (404, 410) and stamp.hash:
        missing = stamp.misses + 1
        yield Gone(name) if missing >= options.misses else Same(name, str(replace(stamp, misses=missing)))
    elif reply.status != 200:
        raise SourceProblem(reply.error, "check the address, or try again later")
    else:
        ending = splitext(name.partition("?")[0])[1].lower()
        media = media_of(reply, ending if ending in options.endings else "", options.media_types)
        if not media:
            raise SourceProblem(f"{root.uri}: no parser reads {reply.headers.get_content_type()}")
        held.uri, held.content = root.uri, content_of(reply, media)
        yield Found(name, root.uri, str(stamp_of(reply, "", "")), date_of(reply, ""), media, sure=True)
        held.uri, held.content = "", b""
    yield Whole()


def read_again(found: Found, fetcher: Fetcher) -> bytes | Skipped:
    """The content of a page that was offered before."""
    url, _, anchor = found.uri.partition("#")
    try:
        reply = fetcher.get(url, follow=True)
    except (NoReply, Later) as problem:
        return Skipped(found.uri, str(problem))
    if reply.status != 200:
        return Skipped(found.uri, reply.error)
    if not url.endswith(f"/{FULL}") or not found.name.startswith(FULL):
        return content_of(reply, found.media)
    parts = {part.anchor: part.text for part in parts_of_full(reply.body.decode("utf-8-sig", "replace"))}
    text = parts.get(anchor)
    return Skipped(found.uri, "it is no longer there") if text is None else text.encode()
