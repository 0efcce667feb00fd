"""Document information and bookmarks of a PDF file, by the PDFium library that liteparse brings.

liteparse reads pages only. Without the library, or with one of another interface, there are none.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAMES = ("libpdfium.so", "libpdfium.dylib", "pdfium.dll")
_KEYS = ("Title", "Author", "Subject", "Keywords", "CreationDate", "ModDate")
_MAX_BOOKMARKS = 10_000
_MAX_LENGTH = 10_000
"""Bytes of a value or title; longer ones are left out."""
_PASSWORD, _SECURITY = 4, 5
"""Error codes of PDFium."""
_PICTURE, _GROUP = 3, 5
"""Kinds of objects."""
_MAX_PAGES, _MAX_OBJECTS, _MAX_DEPTH = 20, 100, 2
"""Pages, objects and groups in groups in which a picture is looked for."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a document's outline; levels and pages from 1."""

    level: int
    title: str
    page: int


@dataclass(slots=True)
class PdfInfo:
    """`values` by the names of the PDF format (`Title`); `problem` is the reason if the file cannot be opened."""

    values: dict[str, str] = field(default_factory=dict)
    bookmarks: list[Bookmark] = field(default_factory=list)
    problem: str = ""


def pdf_info(content: bytes, folder: Path) -> PdfInfo:
    """Information of a file; `folder` is that of the liteparse package."""
    library = _library(folder)
    info = PdfInfo()
    if library is None:
        return info
    library.FPDF_InitLibrary()
    document = library.FPDF_LoadMemDocument64(content, len(content), None)
    if not document:
        code = library.FPDF_GetLastError()
        encrypted = code in (_PASSWORD, _SECURITY)
        info.problem = "encrypted: it opens only with a password" if encrypted else "damaged, or not a PDF file"
        return info
    try:
        for key in _KEYS:
            value = _text(library.FPDF_GetMetaText, document, key.encode())
            if value:
                info.values[key] = value
        info.bookmarks = _bookmarks(library, document)
    finally:
        library.FPDF_CloseDocument(document)
    return info


def has_pictures(content: bytes, folder: Path, max_pages: int) -> bool:
    """Whether a page of a file without text has a picture, perhaps in a group of objects."""
    library = _library(folder)
    document = library.FPDF_LoadMemDocument64(content, len(content), None) if library is not None else None
    if not document:
        return False
    try:
        for number in range(min(library.FPDF_GetPageCount(document), max_pages, _MAX_PAGES)):
            page = library.FPDF_LoadPage(document, number)
            if page:
                count = min(library.FPDFPage_CountObjects(page), _MAX_OBJECTS)
                objects = [library.FPDFPage_GetObject(page, one) for one in range(count)]
                found = _is_picture(library, objects, 0)
                library.FPDF_ClosePage(page)
                if found:
                    return True
    finally:
        library.FPDF_CloseDocument(document)
    return False


def _is_picture(library: Any, objects: list[int], depth: int) -> bool:
    for one in objects:
        kind = library.FPDFPageObj_GetType(one)
        if kind == _PICTURE:
            return True
        if kind == _GROUP and depth < _MAX_DEPTH:
            count = min(library.FPDFFormObj_CountObjects(one), _MAX_OBJECTS)
            if _is_picture(library, [library.FPDFFormObj_GetObject(one, inner) for inner in range(count)], depth + 1):
                return True
    return False


def _library(folder: Path) -> Any:
    path = next((folder / name for name in _NAMES if (folder / name).exists()), None)
    if path is None:
        return None
    try:
        library = ctypes.CDLL(str(path))
        pointer, size = ctypes.c_void_p, ctypes.c_ulong
        for name, result, arguments in (
            ("FPDF_InitLibrary", None, []),
            ("FPDF_LoadMemDocument64", pointer, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]),
            ("FPDF_GetLastError", size, []),
            ("FPDF_CloseDocument", None, [pointer]),
            ("FPDF_GetMetaText", size, [pointer, ctypes.c_char_p, pointer, size]),
            ("FPDFBookmark_GetFirstChild", pointer, [pointer, pointer]),
            ("FPDFBookmark_GetNextSibling", pointer, [pointer, pointer]),
            ("FPDFBookmark_GetTitle", size, [pointer, pointer, size]),
            ("FPDFBookmark_GetDest", pointer, [pointer, pointer]),
            ("FPDFBookmark_GetAction", pointer, [pointer]),
            ("FPDFAction_GetDest", pointer, [pointer, pointer]),
            ("FPDFDest_GetDestPageIndex", ctypes.c_int, [pointer, pointer]),
            ("FPDF_GetPageCount", ctypes.c_int, [pointer]),
            ("FPDF_LoadPage", pointer, [pointer, ctypes.c_int]),
            ("FPDF_ClosePage", None, [pointer]),
            ("FPDFPage_CountObjects", ctypes.c_int, [pointer]),
            ("FPDFPage_GetObject", pointer, [pointer, ctypes.c_int]),
            ("FPDFPageObj_GetType", ctypes.c_int, [pointer]),
            ("FPDFFormObj_CountObjects", ctypes.c_int, [pointer]),
            ("FPDFFormObj_GetObject", pointer, [pointer, size]),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library


def _bookmarks(library: Any, document: int) -> list[Bookmark]:
    """Bookmarks in order; an outline that refers to itself is read once."""
    found: list[Bookmark] = []
    seen: set[int] = set()
    open_: list[tuple[int, int]] = [(1, library.FPDFBookmark_GetFirstChild(document, None) or 0)]
    while open_ and len(seen) < _MAX_BOOKMARKS:
        level, one = open_.pop()
        if not one or one in seen:
            continue
        seen.add(one)
        title = _text(library.FPDFBookmark_GetTitle, one)
        action = library.FPDFBookmark_GetAction(one)
        place = library.FPDFBookmark_GetDest(document, one) or (action and library.FPDFAction_GetDest(document, action))
        page = library.FPDFDest_GetDestPageIndex(document, place) if place else -1
        if title and page >= 0:
            found.append(Bookmark(level, title, page + 1))
        open_.append((level, library.FPDFBookmark_GetNextSibling(document, one) or 0))
        open_.append((level + 1, library.FPDFBookmark_GetFirstChild(document, one) or 0))
    return found


def _text(read: Any, *of: Any) -> str:
    """A value that PDFium writes as UTF-16 to a buffer, and whose size it says beforehand."""
    size = read(*of, None, 0)
    if not 2 < size <= _MAX_LENGTH:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(*of, buffer, size)
    return " ".join(buffer.raw.decode("utf-16-le", "replace").replace("\0", " ").split())
