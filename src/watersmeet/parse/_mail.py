"""One e-mail message as a document: headers, the text part, names of attachments.

Parts are split here and not by the standard library, which reads all of them and nests without a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.documents import Block, Document, Link, Section
from watersmeet.core.model import DocId
from watersmeet.parse._values import clean

if TYPE_CHECKING:
    from email.message import Message

MAX_PARTS = 500
"""Parts of a message that are read, and how deep they may be nested."""
_MAX_DEPTH = 20
_MAX_PARAMETERS = 4_000
"""Characters of a header that has parameters."""
_MAX_TEXT = 2_000_000
_MAX_REFERENCES = 50
_MAX_BLOCKS = 20_000
_ID = re.compile(r"<([^<>\s]{1,300})>")
_TAG_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9]{0,20}")
_HIDDEN = frozenset(("script", "style", "head", "title"))
_BREAKS = {
    **dict.fromkeys("p div table blockquote pre hr ul ol h1 h2 h3 h4 h5 h6 /p /div /table /ul /ol".split(), "\n\n"),
    **dict.fromkeys(("br", "tr", "/h1", "/h2", "/h3", "/h4", "/h5", "/h6"), "\n"),
    "li": "\n- ",
    "td": " ",
    "th": " ",
}
_BLANKS = re.compile(rb"\r?\n\r?\n")


class _Part(NamedTuple):
    kind: str  # media type
    text: str
    name: str  # file name of an attachment


class Mail(NamedTuple):
    """The headers and the body of a message."""

    head: Message
    body: bytes

    @property
    def id(self) -> str:
        """Its message id; empty if it has none."""
        return next(iter(_ids(self.head.get("Message-ID"))), "")


def opened(content: bytes) -> Mail:
    return Mail(*_split(content.lstrip(b"\r\n")))


def message(id_: str, path: str, mail: Mail) -> Document | str:
    """The document of a message, or the reason why there is none."""
    head, body = mail
    if not any(head.get(name) for name in ("From", "To", "Subject", "Date", "Message-ID", "Received")):
        return "not an e-mail: it has no headers"
    reader = _PartReader()
    parts = list(reader.read(head, body, 0))
    warnings = [f"more than {MAX_PARTS} parts; the others are left out"] if reader.count > MAX_PARTS else []
    attachments = [part.name for part in parts if part.name]
    people = [f"{name}: {value}" for name in ("From", "To", "Cc") if (value := _words(head, name)[:500])]
    blocks = [Block(text) for text in filter(None, ("\n".join(people), *_blocks(_body(parts))))]
    if attachments:
        blocks.append(Block("Attachments: " + ", ".join(attachments)))
    identity = _ids(head.get("Message-ID"))[:1]
    date = _date(head)
    fields = _fields(head, identity, attachments, date)
    subject = _words(head, "Subject")
    answered = dict.fromkeys((*_ids(head.get("In-Reply-To")), *_ids(head.get("References"))[-_MAX_REFERENCES:]))
    return Document(
        id=DocId(id_),
        kind="email",
        title=subject or "(no subject)",
        path=path,
        sections=(Section((), 0, blocks=tuple(blocks)),) if blocks else (),
        modified=date,
        created=date,
        aliases=identity,
        fields=fields,
        links=tuple(Link(name, "related") for name in answered if name not in identity),
        warnings=tuple(warnings),
    )


def _fields(head: Message, identity: tuple[str, ...], attachments: list[str], date: datetime | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in ("From", "To", "Cc"):
        if value := _words(head, name):
            fields[name.lower()] = value
    if date:
        fields["date"] = date.isoformat()
    if identity:
        fields["message_id"] = identity[0]
    if value := _words(head, "List-Id"):
        fields["list"] = value
    if attachments:
        fields["attachments"] = attachments
    return fields


# ---------------------------------------------------------------- headers


def _split(content: bytes) -> tuple[Message, bytes]:
    """Headers and body of a message or of a part."""
    from email.parser import BytesHeaderParser

    if content.startswith((b"\n", b"\r\n")):
        head, body = b"", content.partition(b"\n")[2]
    else:
        end = _BLANKS.search(content)
        head, body = (content[: end.start()], content[end.end() :]) if end else (content, b"")
    parsed = BytesHeaderParser().parsebytes(head[:_MAX_TEXT] + b"\n\n")
    for name in ("Content-Type", "Content-Disposition"):
        value = parsed.get(name)
        if value is not None and len(str(value)) > _MAX_PARAMETERS:  # the library's time is quadratic in them
            parsed.replace_header(name, str(value)[:_MAX_PARAMETERS])
    return parsed, body


def _words(head: Message, name: str) -> str:
    """A header in one line, with its encoded words decoded."""
    from email.errors import HeaderParseError
    from email.header import decode_header, make_header

    value = head.get(name)
    if value is None:
        return ""
    text = str(value)[:20_000]
    with suppress(HeaderParseError, LookupError, ValueError):
        text = str(make_header(decode_header(text)))
    return " ".join(clean(text).split())


def _ids(value: Any) -> tuple[str, ...]:
    return tuple(_ID.findall(clean(str(value))[:100_000])) if value is not None else ()


def _date(head: Message) -> datetime | None:
    from email.utils import parsedate_to_datetime

    value = head.get("Date")
    try:
        found = parsedate_to_datetime(str(value)[:200]) if value is not None else None
        return found and (found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC))
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


# ---------------------------------------------------------------- parts


class _PartReader:
    """Goes through the parts of a message, nested ones too, and stops after `MAX_PARTS`."""

    def __init__(self) -> None:
        self.count = 0

    def read(self, head: Message, body: bytes, depth: int) -> Iterator[_Part]:
        self.count += 1
        kind = head.get_content_type()
        boundary = head.get_boundary() if kind.startswith("multipart/") else None
        if self.count > MAX_PARTS or depth > _MAX_DEPTH:
            return
        if boundary:
            mark = b"\n--" + boundary.encode("utf-8", "surrogateescape")
            for part in _between(body, mark):
                if part.startswith(b"--") or self.count > MAX_PARTS:
                    break
                yield from self.read(*_split(part.partition(b"\n")[2]), depth + 1)
            return
        if kind == "message/rfc822":
            yield from self.read(*_split(body), depth + 1)
            return
        name = _file_name(head)
        attached = name or head.get_content_disposition() == "attachment"
        if kind in ("text/plain", "text/html") and not attached:
            yield _Part(kind, _decoded(head, body), "")
        elif attached:
            yield _Part(kind, "", name or kind)


def _between(body: bytes, mark: bytes) -> list[bytes]:
    """What follows each mark. One that goes on is the longer mark of a nested message."""
    found: list[bytes] = []
    for part in (b"\n" + body).split(mark, 4 * MAX_PARTS)[1:]:
        if part[:1].strip() and not part.startswith(b"--") and found:
            found[-1] += mark + part
        else:
            found.append(part)
    return found


def _file_name(head: Message) -> str:
    try:
        name = head.get_filename()
    except (ValueError, LookupError, TypeError):
        return ""
    return " ".join(clean(name).split())[:200] if name else ""


def _decoded(head: Message, body: bytes) -> str:
    """Text of a part, in its transfer encoding and its character set."""
    import binascii
    import quopri

    body = body[:_MAX_TEXT]
    encoding = str(head.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding == "quoted-printable":
        body = quopri.decodestring(body)
    elif encoding == "base64":
        packed = bytes(body.translate(None, b"\r\n\t "))
        with suppress(binascii.Error):
            body = binascii.a2b_base64(packed[: len(packed) // 4 * 4])
    charset = str(head.get_content_charset() or "utf-8")
    try:
        text = body.decode(charset)
    except (LookupError, ValueError):
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            text = body.decode("cp1252", "replace")
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


def _body(parts: list[_Part]) -> str:
    """The plain text parts, or the HTML parts as text if there is none."""
    texts = [part.text for part in parts if part.kind == "text/plain" and part.text.strip()]
    if not texts:
        texts = [html_text(part.text) for part in parts if part.kind == "text/html" and part.text]
    return "\n\n".join(texts)


# ---------------------------------------------------------------- text


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs; a run of quoted lines and the signature are blocks of their own."""
    found = 0
    lines = text.split("\n")
    block: list[str] = []
    quoted = signature = False
    for at, line in enumerate((*lines, "")):
        is_quote = line.startswith(">")
        if found == _MAX_BLOCKS:
            yield "\n".join(lines[at - len(block) :])
            return
        ends = at == len(lines) or (not signature and (not line.strip() or is_quote != quoted))
        begins_signature = not signature and line in ("-- ", "--")
        if (ends or begins_signature) and block:
            yield "\n".join(block).strip("\n")
            found += 1
            block = []
        signature = signature or begins_signature
        quoted = is_quote
        if line.strip() or signature:
            block.append(line.rstrip())
    if any(block):
        yield "\n".join(block).strip("\n")


def html_text(source: str) -> str:
    """Text of HTML: lines for blocks, nothing of scripts and styles.

    It looks at each character once; `html.parser` takes quadratic time for some malformed pages.
    """
    from html import unescape

    parts: list[str] = []
    hidden = ""
    first, *pieces = source.split("<")
    parts.append(unescape(first))
    for piece in pieces:
        if hidden == "!--":
            _, closed, text = piece.partition("-->")
            hidden = "" if closed else hidden
            parts.append(" ".join(unescape(text).split("\n")))
            continue
        tag, closed, text = piece.partition("-->" if piece.startswith("!--") else ">")
        name = _TAG_NAME.match(tag)
        if not closed and piece.startswith("!--"):
            hidden = "!--"
            continue
        if not closed or (not name and not tag.startswith(("!", "?"))):
            text, name = "<" + piece, None  # no tag: a bare sign
        word = name[0].lower() if name else ""
        if hidden:
            hidden = "" if word == "/" + hidden else hidden
            if hidden:
                continue
        elif word in _HIDDEN:
            hidden = word
            continue
        parts.append(_BREAKS.get(word, ""))
        parts.append(" ".join(unescape(text).split("\n")))
    text = "".join(parts)
    found: list[str] = []
    for line in (" ".join(line.split()) for line in text.split("\n")):
        if line or (found and found[-1]):
            found.append(line)
    return "\n".join(found).strip()
