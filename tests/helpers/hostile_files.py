"""Files made to crash a reader, or to take its time or memory. Each is built when it is asked for."""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial

MB = 1_000_000
_CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>{}</Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}'
    "</Relationships>"
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "application/vnd.openxmlformats-officedocument"
_LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
)


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


# ---------------------------------------------------------------- PDF


def pdf(objects: Iterable[bytes], root: int = 1, extra: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1."""
    body, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
    body += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root %d 0 R %s >>\nstartxref\n%d\n%%%%EOF"
    return bytes(body + trailer % (len(offsets) + 1, root, extra, start))


def stream(content: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), extra, content)


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf_with(content: bytes, extra: bytes = b"") -> bytes:
    return pdf([CATALOGUE, PAGES, PAGE, stream(content, extra), FONT])


def pdf_stream_bomb() -> bytes:
    once = zlib.compress(b"BT /F 9 Tf (x) Tj ET " * 10 * MB, 9)
    return pdf_with(zlib.compress(once, 9), b"/Filter [/FlateDecode /FlateDecode]")


def pdf_many_pages(count: int = 30_000) -> bytes:
    kids = b" ".join(b"%d 0 R" % (n + 5) for n in range(count))
    pages = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count)
    text = stream(b"BT /F 9 Tf 50 700 Td (page) Tj ET")
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R /Resources << /Font << /F 4 0 R >> >> >>"
    )
    return pdf([CATALOGUE, pages, text, FONT, *[page] * count])


def pdf_form_bomb() -> bytes:
    """Forms that draw each other: 16 to the power of 8 times a text."""
    forms = []
    for level in range(9):
        inner = b"/X Do " * 16 if level < 8 else b"BT /F 9 Tf (x) Tj ET"
        resources = b"/XObject << /X %d 0 R >> /Font << /F 5 0 R >>" % (7 + level)
        head = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << %s >>" % resources
        forms.append(stream(inner, head))
    page = PAGE.replace(b"/Font", b"/XObject << /X 6 0 R >> /Font", 1)
    return pdf([CATALOGUE, PAGES, page, stream(b"/X Do"), FONT, *forms])


# ---------------------------------------------------------------- Office


def docx(body: str, before: str = "") -> bytes:
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = f'<?xml version="1.0"?>{before}<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>'
    return zipped(
        {
            "[Content_Types].xml": _CONTENT_TYPES.format(
                f'<Override PartName="/word/document.xml" ContentType="{_MAIN}.wordprocessingml.document.main+xml"/>'
            ),
            "_rels/.rels": _RELATIONS.format(
                f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
            ),
            "word/document.xml": document,
        }
    )


def xlsx(rows: str, strings: str = "") -> bytes:
    sheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return zipped(
        {
            "[Content_Types].xml": _CONTENT_TYPES.format(
                f'<Override PartName="/xl/workbook.xml" ContentType="{_MAIN}.spreadsheetml.sheet.main+xml"/>'
                f'<Override PartName="/xl/worksheets/s.xml" ContentType="{_MAIN}.spreadsheetml.worksheet+xml"/>'
                f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_MAIN}.spreadsheetml.sharedStrings+xml"/>'
            ),
            "_rels/.rels": _RELATIONS.format(
                f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
            ),
            "xl/workbook.xml": f'<?xml version="1.0"?><workbook xmlns="{sheet}" xmlns:r="{_OFFICE}"><sheets>'
            '<sheet name="Far" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _RELATIONS.format(
                f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/s.xml"/>'
                f'<Relationship Id="r2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
            ),
            "xl/worksheets/s.xml": f'<?xml version="1.0"?><worksheet xmlns="{sheet}"><sheetData>{rows}</sheetData>'
            "</worksheet>",
            "xl/sharedStrings.xml": f'<?xml version="1.0"?><sst xmlns="{sheet}">{strings}</sst>',
        }
    )


def xlsx_wide() -> bytes:
    """A million cells in one row."""
    return xlsx('<row r="1">' + "<c><v>1</v></c>" * MB + "</row>")


def xlsx_string_bomb() -> bytes:
    text = "<si><t>" + "x" * 30_000 + "</t></si>"
    cells = '<row r="1">' + '<c t="s"><v>0</v></c>' * 16_000 + "</row>"
    return xlsx(cells * 20, text)


def odf(kind: str, body: str, before: str = "") -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = " ".join(f'xmlns:{name}="{office}{name}:1.0"' for name in ("office", "table", "text", "draw"))
    content = (
        f'<?xml version="1.0"?>{before}<office:document-content {spaces} office:version="1.2"><office:body>{body}'
        "</office:body></office:document-content>"
    )
    media = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        '<?xml version="1.0"?><manifest:manifest '
        f'xmlns:manifest="{office}manifest:1.0"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{media}"/></manifest:manifest>'
    )
    return zipped({"mimetype": media, "META-INF/manifest.xml": manifest, "content.xml": content})


def ods_repeated() -> bytes:
    """One cell that says it is repeated over the whole sheet, 17 billion times."""
    cell = '<table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>'
    return odf(
        "spreadsheet", f'<office:spreadsheet><table:table table:name="A">{row}</table:table></office:spreadsheet>'
    )


def pptx_of_itself() -> bytes:
    """A presentation whose slides are the presentation, a thousand times."""
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"
    kind = f"{_MAIN}.presentationml.presentation.main+xml"
    slides = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in range(1000))
    target = f'Type="{_OFFICE}/slide" Target="presentation.xml"'
    relations = "".join(f'<Relationship Id="r{n}" {target}/>' for n in range(1000))
    opening = f'<?xml version="1.0"?><p:presentation xmlns:p="{main}" xmlns:r="{_OFFICE}">'
    return zipped(
        {
            "[Content_Types].xml": _CONTENT_TYPES.format(
                f'<Override PartName="/ppt/presentation.xml" ContentType="{kind}"/>'
            ),
            "_rels/.rels": _RELATIONS.format(
                f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="ppt/presentation.xml"/>'
            ),
            "ppt/presentation.xml": f"{opening}<p:sldIdLst>{slides}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": _RELATIONS.format(relations),
        }
    )


def epub_of_itself() -> bytes:
    """A book whose spine names the same chapter 100,000 times, and a chapter outside of the archive."""
    refs = '<itemref idref="c"/>' * 100_000
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="o" href="../../../../etc/passwd" media-type="application/xhtml+xml"/></manifest>'
        f'<spine><itemref idref="o"/>{refs}</spine></package>'
    )
    container = (
        '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    chapter = f"<html><body><p>{'word ' * 2000}</p></body></html>"
    return zipped(
        {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "p.opf": package, "c.xhtml": chapter}
    )


def compound_loop() -> bytes:
    """The head of an old Office file whose sector chains lead back to themselves."""
    head = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504)
    head[24:34] = b"\x3e\0\x03\0\xfe\xff\x09\0\x06\0"
    head[44:48] = (1).to_bytes(4, "little")
    head[48:52] = (1).to_bytes(4, "little")
    head[56:60] = (4096).to_bytes(4, "little")
    head[60:76] = b"\xfe\xff\xff\xff\0\0\0\0\xfe\xff\xff\xff\0\0\0\0"
    head[76:80] = (0).to_bytes(4, "little")
    head[80:512] = b"\xff" * 432
    table = b"".join((1).to_bytes(4, "little") for _ in range(128))
    return bytes(head) + table + b"\0" * 512


# ---------------------------------------------------------------- text


def noise(size: int, start: bytes = b"") -> bytes:
    return start + random.Random(7).randbytes(size)  # noqa: S311  # the same bytes each time


def eml_parts(count: int = 200_000) -> bytes:
    head = b"Subject: parts\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    return head + b"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n" * count + b"--b--\r\n"


def eml_nested(count: int = 20_000) -> bytes:
    head = b"Subject: nested\r\nMIME-Version: 1.0\r\n"
    return head + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(count)
    )


def notebook_deep(depth: int = 200_000) -> bytes:
    return b'{"cells": ' + b"[" * depth + b"]" * depth + b', "nbformat": 4}'


def yaml_bomb() -> bytes:
    lines = ["a0: &a0 [lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines).encode()


def openapi_loop() -> bytes:
    schema = {"$ref": "#/components/schemas/A"}
    paths = {f"/p{n}": {"get": {"parameters": [schema] * 50, "responses": {"200": schema}}} for n in range(2000)}
    components = {"schemas": {"A": {"allOf": [schema, schema], "properties": {"a": schema}}}}
    return json.dumps({"openapi": "3.0.0", "info": {"title": "x"}, "paths": paths, "components": components}).encode()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "stream-bomb.pdf": pdf_stream_bomb,
    "form-bomb.pdf": pdf_form_bomb,
    "many-pages.pdf": pdf_many_pages,
    "page-loop.pdf": partial(pdf, [CATALOGUE, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"]),
    "page-count.pdf": partial(pdf, [CATALOGUE, b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>", PAGE]),
    "deep.pdf": lambda: pdf([CATALOGUE, PAGES, PAGE, b"[" * 500_000 + b"]" * 500_000, FONT]),
    "cut.pdf": lambda: pdf_with(b"BT /F 9 Tf (text) Tj ET")[:300],
    "noise.pdf": partial(noise, MB, b"%PDF-1.7\n"),
    "bomb.docx": lambda: docx("<w:p><w:r><w:t>" + " x" * 80 * MB + "</w:t></w:r></w:p>"),
    "laughs.docx": partial(docx, "<w:p><w:r><w:t>&a9;</w:t></w:r></w:p>", _LAUGHS),
    "deep.docx": lambda: docx("<w:tbl><w:tr><w:tc>" * 30_000 + "</w:tc></w:tr></w:tbl>" * 30_000),
    "far.xlsx": partial(
        xlsx, '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    ),
    "wide.xlsx": xlsx_wide,
    "strings.xlsx": xlsx_string_bomb,
    "itself.pptx": pptx_of_itself,
    "laughs.odt": partial(odf, "text", "<office:text><text:p>&a9;</text:p></office:text>", _LAUGHS),
    "repeated.ods": ods_repeated,
    "groups.rtf": lambda: b"{\\rtf1 " + b"{" * MB + b"x" + b"}" * MB + b"}",
    "binary.rtf": lambda: b"{\\rtf1 \\bin2000000000 x}",
    "itself.epub": epub_of_itself,
    "loop.doc": compound_loop,
    "loop.xls": compound_loop,
    "noise.ppt": partial(noise, MB, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    "deep.html": lambda: b"<div>" * 300_000 + b"text" + b"</div>" * 300_000,
    "attribute.html": lambda: b'<p title="' + b"x" * 9 * MB + b'">text</p>',
    "span.html": lambda: b"<table><tr><td colspan=2000000000 rowspan=2000000000>x</td></tr></table>" * 1000,
    "formatting.html": lambda: b"<b><i><u><a href=x>" * 50_000 + b"text",
    "deep.json": lambda: b"[" * 200_000 + b"]" * 200_000,
    "keys.json": lambda: json.dumps({f"k{n}": n for n in range(400_000)}).encode(),
    "bomb.yaml": yaml_bomb,
    "loop.json": openapi_loop,
    "deep.ipynb": notebook_deep,
    "parts.eml": eml_parts,
    "nested.eml": eml_nested,
    "from.mbox": lambda: b"From a\n\n" * 600_000,
    "columns.csv": lambda: b"x," * 2 * MB + b"\n" + b"y," * 2 * MB,
    "quote.csv": lambda: b'a,b\n"' + b"x,\n" * 2 * MB,
    "parentheses.py": lambda: b"x = " + b"(" * 2 * MB,
    "braces.js": lambda: b"{" * 2 * MB,
    "line.c": lambda: b"int a = " + b"a+" * 4 * MB + b"a;",
    "headings.rst": lambda: b"a\n=\n" * 600_000,
    "stars.org": lambda: b"* a\n" * 900_000,
    "deep.adoc": lambda: b"====\n" * 900_000,
}
"""Content by file name. Most of them are under 10 MB, and all end a reader that trusts them."""
