"""Office files written by hand: Word, PowerPoint, Excel, OpenDocument, EPUB and RTF. Functions return bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

Rows = Sequence[Sequence[str]]
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAW = "http://schemas.openxmlformats.org/drawingml/2006/main"
_TYPES = "application/vnd.openxmlformats-officedocument"


def zipped(parts: Mapping[str, str | bytes], stored: Sequence[str] = ()) -> bytes:
    """A ZIP archive of these parts, in order; `stored` are not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            data = text.encode() if isinstance(text, str) else text
            archive.writestr(name, data, zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return out.getvalue()


def changed(content: bytes, part: str, old: str, new: str) -> bytes:
    """An archive with a text of one part replaced."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if old.encode() not in parts[part]:
        raise ValueError(f"{part} does not have {old}")
    parts[part] = parts[part].replace(old.encode(), new.encode())
    return zipped(parts, stored=("mimetype",))


def added(content: bytes, part: str, text: str) -> bytes:
    """An archive with one more part."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return zipped({name: archive.read(name) for name in archive.namelist()} | {part: text}, stored=("mimetype",))


def core(title: str = "", author: str = "", keywords: str = "", created: str = "", modified: str = "") -> str:
    """The core properties of an Office Open XML file."""
    words = "http://purl.org/dc/"
    kind = 'xsi:type="dcterms:W3CDTF"'
    return (
        f'{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" xmlns:dc="{words}elements/1.1/" '
        f'xmlns:dcterms="{words}terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        + (f"<dc:title>{escape(title)}</dc:title>" if title else "")
        + (f"<dc:creator>{escape(author)}</dc:creator>" if author else "")
        + (f"<cp:keywords>{escape(keywords)}</cp:keywords>" if keywords else "")
        + (f"<dcterms:created {kind}>{created}</dcterms:created>" if created else "")
        + (f"<dcterms:modified {kind}>{modified}</dcterms:modified>" if modified else "")
        + "</cp:coreProperties>"
    )


def _relations(targets: Sequence[tuple[str, str, str]]) -> str:
    """Relations of a part: id, kind, target; a kind with a colon is a whole address."""
    rows = "".join(
        f'<Relationship Id="{id_}" Type="{kind if ":" in kind else f"{_OFFICE}/relationships/{kind}"}" '
        f"Target={quoteattr(target)}{' TargetMode=' + quoteattr('External') if kind == 'hyperlink' else ''}/>"
        for id_, kind, target in targets
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'


def _package(main: str, kinds: Mapping[str, str], parts: Mapping[str, str], properties: Mapping[str, str]) -> bytes:
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{_TYPES}.{kind}+xml"/>' for name, kind in kinds.items()
    )
    types = (
        f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )
    about = f"{_PACKAGE}/relationships/metadata/core-properties"
    relations = _relations([("rId1", "officeDocument", main), ("rId2", about, "docProps/core.xml")])
    return zipped(
        {"[Content_Types].xml": types, "_rels/.rels": relations, "docProps/core.xml": core(**properties), **parts}
    )


# ---------------------------------------------------------------- Word


def heading(level: int, text: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="Heading{level}"/></w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>'


def paragraph(text: str, link: str = "", target: int = 1) -> str:
    """A paragraph, and a link to the `target`-th address after it."""
    linked = f'<w:hyperlink r:id="rLink{target}"><w:r><w:t>{escape(link)}</w:t></w:r></w:hyperlink>' if link else ""
    return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>{linked}</w:p>'


def word_table(rows: Rows) -> str:
    cells = "".join("<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>" for row in rows)
    return f"<w:tbl>{cells}</w:tbl>"


def docx(body: Sequence[str], links: Sequence[str] = (), **properties: str) -> bytes:
    """A Word file of `heading`, `paragraph` and `word_table` parts; `links` are the addresses of their links."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/>'
        f'<w:pPr><w:outlineLvl w:val="{n - 1}"/></w:pPr></w:style>'
        for n in range(1, 7)
    )
    spaces = f'xmlns:w="{_WORD}" xmlns:r="{_OFFICE}/relationships"'
    document = f"{_HEAD}<w:document {spaces}><w:body>{''.join(body)}</w:body></w:document>"
    targets = [("rStyles", "styles", "styles.xml")]
    targets += [(f"rLink{number}", "hyperlink", link) for number, link in enumerate(links, 1)]
    kinds = {
        "word/document.xml": "wordprocessingml.document.main",
        "word/styles.xml": "wordprocessingml.styles",
    }
    parts = {
        "word/document.xml": document,
        "word/styles.xml": f'{_HEAD}<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
        "word/_rels/document.xml.rels": _relations(targets),
    }
    return _package("word/document.xml", kinds, parts, properties)


# ---------------------------------------------------------------- PowerPoint


def _shape(id_: int, kind: str, lines: Sequence[str]) -> str:
    text = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in lines)
    holder = f'<p:ph type="{kind}"/>'
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{id_}" name="Shape {id_}"/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr>'
        f"<p:spPr/><p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"
    )


def _slide_part(tag: str, shapes: str) -> str:
    spaces = f'xmlns:p="{_SLIDE}" xmlns:a="{_DRAW}" xmlns:r="{_OFFICE}/relationships"'
    return (
        f"{_HEAD}<p:{tag} {spaces}><p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{shapes}</p:spTree></p:cSld></p:{tag}>"
    )


def pptx(slides: Sequence[tuple[str, Sequence[str], str]], **properties: str) -> bytes:
    """A PowerPoint file of slides: title, lines and notes, each of which may be empty."""
    parts: dict[str, str] = {}
    kinds = {"ppt/presentation.xml": "presentationml.presentation.main"}
    notes = 0
    for number, (title, lines, note) in enumerate(slides, 1):
        shapes = (_shape(2, "title", [title]) if title else "") + (_shape(3, "body", lines) if lines else "")
        parts[f"ppt/slides/slide{number}.xml"] = _slide_part("sld", shapes)
        kinds[f"ppt/slides/slide{number}.xml"] = "presentationml.slide"
        if note:
            notes += 1
            name = f"notesSlide{notes}.xml"
            parts[f"ppt/notesSlides/{name}"] = _slide_part(
                "notes", _shape(2, "body", [note]) + _shape(3, "sldNum", ["9"])
            )
            parts[f"ppt/notesSlides/_rels/{name}.rels"] = _relations(
                [("rId1", "slide", f"../slides/slide{number}.xml")]
            )
            parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = _relations(
                [("rId1", "notesSlide", f"../notesSlides/{name}")]
            )
            kinds[f"ppt/notesSlides/{name}"] = "presentationml.notesSlide"
    count = len(slides)
    ids = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in range(1, count + 1))
    spaces = f'xmlns:p="{_SLIDE}" xmlns:r="{_OFFICE}/relationships"'
    parts["ppt/presentation.xml"] = f"{_HEAD}<p:presentation {spaces}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    parts["ppt/_rels/presentation.xml.rels"] = _relations(
        [(f"rId{number}", "slide", f"slides/slide{number}.xml") for number in range(1, count + 1)]
    )
    return _package("ppt/presentation.xml", kinds, parts, properties)


# ---------------------------------------------------------------- Excel


def xlsx(sheets: Mapping[str, Rows], **properties: str) -> bytes:
    """An Excel file of sheets; empty texts are empty cells."""
    parts: dict[str, str] = {}
    kinds = {"xl/workbook.xml": "spreadsheetml.sheet.main"}
    for number, rows in enumerate(sheets.values(), 1):
        lines = ""
        for row, cells in enumerate(rows, 1):
            line = "".join(
                f'<c r="{chr(65 + column)}{row}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
                for column, cell in enumerate(cells)
                if cell
            )
            lines += f'<row r="{row}">{line}</row>'
        parts[f"xl/worksheets/sheet{number}.xml"] = sheet(lines)
        kinds[f"xl/worksheets/sheet{number}.xml"] = "spreadsheetml.worksheet"
    listed = "".join(f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1))
    spaces = f'xmlns="{_SHEET}" xmlns:r="{_OFFICE}/relationships"'
    parts["xl/workbook.xml"] = f"{_HEAD}<workbook {spaces}><sheets>{listed}</sheets></workbook>"
    parts["xl/_rels/workbook.xml.rels"] = _relations(
        [(f"rId{number}", "worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1)]
    )
    return _package("xl/workbook.xml", kinds, parts, properties)


def sheet(rows: str) -> str:
    """The part of a sheet, from `<row>` elements."""
    return f'{_HEAD}<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>'


# ---------------------------------------------------------------- OpenDocument

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_SPACES = (
    " ".join(
        f'xmlns:{name}="{_ODF}:{name if name != "draw" else "drawing"}:1.0"'
        for name in ("office", "text", "table", "draw", "presentation", "meta", "manifest")
    )
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
)


def _open_document(kind: str, body: str, title: str, author: str) -> bytes:
    media = f"application/vnd.oasis.opendocument.{kind}"
    about = f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator>"
    about += "<dc:date>2024-03-01T10:00:00</dc:date>"
    meta = f"<office:document-meta {_SPACES}><office:meta>{about}</office:meta></office:document-meta>"
    inner = "text" if kind == "text" else kind
    return zipped(
        {
            "mimetype": media,
            "content.xml": f"{_HEAD}<office:document-content {_SPACES}><office:body><office:{inner}>{body}"
            f"</office:{inner}></office:body></office:document-content>",
            "meta.xml": _HEAD + meta,
            "META-INF/manifest.xml": f'{_HEAD}<manifest:manifest {_SPACES}><manifest:file-entry manifest:full-path="/" '
            f'manifest:media-type="{media}"/></manifest:manifest>',
        },
        stored=("mimetype",),
    )


def _odf_table(name: str, rows: Rows) -> str:
    lines = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{escape(cell)}</text:p></table:table-cell>'
            if cell
            else "<table:table-cell/>"
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    width = max(map(len, rows), default=1)
    columns = f'<table:table-column table:number-columns-repeated="{width}"/>'
    return f"<table:table table:name={quoteattr(name)}>{columns}{lines}</table:table>"


def odt(parts: Sequence[tuple[int, str]], rows: Rows = (), title: str = "", author: str = "") -> bytes:
    """An OpenDocument text: pairs of a level and a text (0: a paragraph), then a table."""
    body = "".join(
        f'<text:h text:outline-level="{level}">{escape(text)}</text:h>' if level else f"<text:p>{escape(text)}</text:p>"
        for level, text in parts
    )
    return _open_document("text", body + (_odf_table("T", rows) if rows else ""), title, author)


def ods(sheets: Mapping[str, Rows], title: str = "", author: str = "") -> bytes:
    return _open_document("spreadsheet", "".join(_odf_table(*one) for one in sheets.items()), title, author)


def odp(slides: Sequence[tuple[str, Sequence[str], str]], title: str = "", author: str = "") -> bytes:
    """An OpenDocument presentation of slides: title, lines and notes."""
    body = ""
    for number, (name, lines, note) in enumerate(slides, 1):
        frames = ""
        if name:
            box = f"<draw:text-box><text:p>{escape(name)}</text:p></draw:text-box>"
            frames += f'<draw:frame presentation:class="title">{box}</draw:frame>'
        text = "".join(f"<text:p>{escape(line)}</text:p>" for line in lines)
        frames += f"<draw:custom-shape>{text}</draw:custom-shape>"
        if note:
            frames += (
                "<presentation:notes><draw:frame><draw:text-box>"
                f"<text:p>{escape(note)}</text:p></draw:text-box></draw:frame></presentation:notes>"
            )
        body += f'<draw:page draw:name="page{number}">{frames}</draw:page>'
    return _open_document("presentation", body, title, author)


# ---------------------------------------------------------------- EPUB and RTF


def epub(chapters: Sequence[str], title: str = "", author: str = "") -> bytes:
    """A book of chapters, given as the content of the body of an XHTML page."""
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(1, len(chapters) + 1)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(1, len(chapters) + 1))
    start = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>c</title></head>'
    pages = {f"OEBPS/c{n}.xhtml": f"{_HEAD}{start}<body>{body}</body></html>" for n, body in enumerate(chapters, 1)}
    root = '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/>'
    about = (
        f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator><dc:language>en</dc:language>"
    )
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'{_HEAD}<container version="1.0" xmlns="{_ODF}:container">'
            f"<rootfiles>{root}</rootfiles></container>",
            "OEBPS/content.opf": f'{_HEAD}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
            'unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f'<dc:identifier id="id">x</dc:identifier>{about}</metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **pages,
        },
        stored=("mimetype",),
    )


def rtf(paragraphs: Sequence[tuple[int, str]], rows: Rows = (), title: str = "") -> bytes:
    """Pairs of a level and a text (0: a paragraph), then a table; characters beyond ASCII are escaped."""
    styles = r"{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2\outlinelevel1 heading 2;}"
    out = r"{\rtf1\ansi\deff0{\fonttbl{\f0 Times;}}{\stylesheet" + styles + "}"
    out += r"{\info{\title " + _rtf_text(title) + "}}\n" if title else ""
    for level, text in paragraphs:
        style = rf"\s{level}\outlinelevel{level - 1}" if level else r"\s0"
        out += rf"\pard{style} {_rtf_text(text)}\par" + "\n"
    for row in rows:
        out += r"\trowd" + "".join(rf"\cellx{2000 * n}" for n in range(1, len(row) + 1))
        out += "".join(rf"\pard\intbl {_rtf_text(cell)}\cell" for cell in row) + "\\row\n"
    return (out + "}").encode("ascii")


def _rtf_text(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")
    return "".join(char if char.isascii() else rf"\u{ord(char)}?" for char in text)
