"""Which Office format a file really is, by its first bytes and the names of its parts."""

from __future__ import annotations

from watersmeet.core.lazy_dataclass import dataclass

_ZIP, _OLE, _RTF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf"
_MAX_PARTS = 100_000
_MAX_PART = 10_000_000
"""Bytes of one part that is read here."""


class NotRead(Exception):
    """A file that cannot be read; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A format: its name with an article, its media type, the endings of its files and the signs that tell it."""

    name: str
    media: str
    endings: tuple[str, ...]
    signs: tuple[str, ...] = ()
    slides: bool = False
    sheets: bool = False


_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
KINDS = {
    "docx": Kind("a Word file", f"{_OPEN_XML}wordprocessingml.document", ("docx", "docm", "dotx"), ("word/",)),
    "pptx": Kind(
        "a PowerPoint file",
        f"{_OPEN_XML}presentationml.presentation",
        ("pptx", "pptm", "ppsx"),
        ("ppt/",),
        slides=True,
    ),
    "xlsx": Kind("an Excel file", f"{_OPEN_XML}spreadsheetml.sheet", ("xlsx", "xlsm"), ("xl/",), sheets=True),
    "odt": Kind("an OpenDocument text", f"{_OPEN_DOCUMENT}text", ("odt",)),
    "ods": Kind("an OpenDocument spreadsheet", f"{_OPEN_DOCUMENT}spreadsheet", ("ods",), sheets=True),
    "odp": Kind("an OpenDocument presentation", f"{_OPEN_DOCUMENT}presentation", ("odp",), slides=True),
    "epub": Kind("an EPUB file", "application/epub+zip", ("epub",)),
    "rtf": Kind("an RTF file", "application/rtf", ("rtf",)),
    "doc": Kind("a Word file", "application/msword", ("doc",), ("WordDocument",)),
    "ppt": Kind("a PowerPoint file", "application/vnd.ms-powerpoint", ("ppt",), ("PowerPoint Document",), slides=True),
    "xls": Kind("an Excel file", "application/vnd.ms-excel", ("xls",), ("Workbook", "WORKBOOK", "Book"), sheets=True),
    "msg": Kind("an Outlook message", "application/vnd.ms-outlook", ("msg",), ("__properties_version1.0",)),
}
_BY_ENDING = {ending: name for name, kind in KINDS.items() for ending in kind.endings}


def archive_problems() -> tuple[type[Exception], ...]:
    """What a damaged ZIP archive, or XML in it, may raise."""
    import zipfile
    import zlib
    from xml.etree.ElementTree import ParseError

    other = (KeyError, ValueError, OSError, EOFError, RuntimeError)
    return (zipfile.BadZipFile, zlib.error, ParseError, *other)


def office_kind(content: bytes, ending: str) -> str:
    """Key of `KINDS` for a file, whatever its ending says; `NotRead` if it is none of them."""
    claimed = _BY_ENDING.get(ending, "")
    if not content:
        raise NotRead("empty")
    head = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(_RTF):
        return "rtf"
    if content.startswith(_ZIP):
        return _zip_kind(content)
    if content.startswith(_OLE):
        return _ole_kind(content, claimed)
    name = KINDS[claimed].name if claimed else "an Office file"
    start = head.lower()
    if start.startswith((b"<html", b"<!doctype html")) or b"<html" in start:
        raise NotRead(f"an HTML page, not {name}; it is read if it is named .html")
    if start.startswith(b"<?xml"):
        raise NotRead(f"an XML file, not {name}")
    if b"\0" not in content[:4096] and claimed in ("xls", "xlsx", "ods"):
        raise NotRead(f"plain text, not {name}; it is read if it is named .csv or .tsv")
    raise NotRead(f"not {name}")


def _zip_kind(content: bytes) -> str:
    import io
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()[:_MAX_PARTS]
            if "mimetype" in names:
                media = archive.open("mimetype").read(200).strip().decode("ascii", "replace").removesuffix("-template")
                found = next((name for name, kind in KINDS.items() if kind.media == media), "")
                if found and "META-INF/manifest.xml" in names:
                    manifest = archive.open("META-INF/manifest.xml").read(_MAX_PART)
                    if found != "epub" and b"encryption-data" in manifest:
                        raise NotRead("encrypted: it opens only with a password")
                if found:
                    return found
    except archive_problems() as problem:
        raise NotRead(f"damaged: not a complete ZIP archive ({' '.join(str(problem).split())[:100]})") from problem
    counts = {name: sum(one.startswith(KINDS[name].signs) for one in names) for name in ("docx", "pptx", "xlsx")}
    best = max(counts, key=lambda name: counts[name])
    if not counts[best]:
        raise NotRead("a ZIP archive, but no Office file")
    return best


def _ole_kind(content: bytes, claimed: str) -> str:
    """The names of the streams of a compound file are in UTF-16. Embedded files have theirs, so the ending counts."""

    def has(*streams: str) -> bool:
        return any(stream.encode("utf-16-le") in content for stream in streams)

    if has("EncryptedPackage"):
        raise NotRead("encrypted: it opens only with a password")
    order = dict.fromkeys((claimed, "msg", "doc", "ppt", "xls"))
    for name in order:
        if name in ("msg", "doc", "ppt", "xls") and has(*KINDS[name].signs):
            return name
    raise NotRead("an old Microsoft file of a kind that is not read")
