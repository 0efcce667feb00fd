"""PDF files written by hand: lines of text in two fonts, bookmarks, document information, pictures of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Line = tuple[float, str] | tuple[float, str, float]
"""Size of the font, text, and the distance from the left edge if it is not the margin. `**` before it: bold."""
Bookmark = tuple[int, str, int]
"""Level, title and page, from 1."""
TOP, LEFT, WIDTH, HEIGHT = 760, 72, 612, 792


def pdf(
    pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark] = (), info: Mapping[str, str] | None = None
) -> bytes:
    """A file whose pages have these lines from top to bottom; larger sizes are set in bold."""
    writer = _Writer()
    fonts = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    bold = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
    resources = f"<< /Font << /F1 {fonts} 0 R /F2 {bold} 0 R >> >>"
    return writer.finish([(_text(lines), resources) for lines in pages], bookmarks, info or {})


def scanned(pages: int, text_pages: Sequence[Sequence[Line]] = ()) -> bytes:
    """A file with pages that are pictures, after pages of text."""
    writer = _Writer()
    font = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    picture = writer.add_stream(
        "/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8",
        bytes(range(0, 256, 4)),
    )
    resources = f"<< /XObject << /Im0 {picture} 0 R >> /Font << /F1 {font} 0 R /F2 {font} 0 R >> >>"
    drawing = f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /Im0 Do Q".encode()
    return writer.finish([(_text(lines), resources) for lines in text_pages] + [(drawing, resources)] * pages, (), {})


def encrypted() -> bytes:
    """A file that opens only with a password that nobody has."""
    content = pdf([[(12, "secret")]])
    key = "5a" * 32
    handler = f"/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{key}> /U <{key}> >> /ID [<00> <00>] "
    return content.replace(b"trailer\n<< ", b"trailer\n<< " + handler.encode())


def table(rows: Sequence[Sequence[str]], size: float = 10, step: float = 130) -> list[Line]:
    """Lines of a table without rules: cells of a row stand at the same height."""
    return [(size, cell, LEFT + step * column) for row in rows for column, cell in enumerate(row)]


class _Writer:
    def __init__(self) -> None:
        self.objects: list[bytes] = [b"", b""]  # catalogue and pages come last

    def add(self, body: str) -> int:
        self.objects.append(body.encode("latin-1"))
        return len(self.objects)

    def add_stream(self, entries: str, data: bytes) -> int:
        self.objects.append(f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream")
        return len(self.objects)

    def finish(self, pages: list[tuple[bytes, str]], bookmarks: Sequence[Bookmark], info: Mapping[str, str]) -> bytes:
        numbers = []
        for drawing, resources in pages:
            stream = self.add_stream("", drawing)
            box = f"/MediaBox [0 0 {WIDTH} {HEIGHT}]"
            numbers.append(
                self.add(f"<< /Type /Page /Parent 2 0 R {box} /Resources {resources} /Contents {stream} 0 R >>")
            )
        outline = self._outline(bookmarks, numbers)
        about = self.add("<< " + " ".join(f"/{key} {_string(value)}" for key, value in info.items()) + " >>")
        root = f"<< /Type /Catalog /Pages 2 0 R{f' /Outlines {outline} 0 R' if outline else ''} >>"
        kids = " ".join(f"{number} 0 R" for number in numbers)
        self.objects[0] = root.encode()
        self.objects[1] = f"<< /Type /Pages /Count {len(numbers)} /Kids [{kids}] >>".encode()
        out, offsets = b"%PDF-1.4\n", []
        for number, body in enumerate(self.objects, 1):
            offsets.append(len(out))
            out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        rows = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
        size = len(offsets) + 1
        out_end = (
            f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer\n<< /Size {size} /Root 1 0 R /Info {about} 0 R >>\n"
        )
        return out + out_end.encode() + f"startxref\n{len(out)}\n%%EOF\n".encode()

    def _outline(self, bookmarks: Sequence[Bookmark], pages: Sequence[int]) -> int:
        """Number of the root of the outline; entries of one parent are linked to their neighbours."""
        if not bookmarks:
            return 0
        root = self.add("")
        first = len(self.objects) + 1
        parents: list[int] = []
        open_: list[tuple[int, int]] = [(0, root)]
        for number, (level, _, _) in enumerate(bookmarks):
            while open_[-1][0] >= level:
                open_.pop()
            parents.append(open_[-1][1])
            open_.append((level, first + number))
        for number, (_, title, page) in enumerate(bookmarks):
            same = [first + other for other, parent in enumerate(parents) if parent == parents[number]]
            at = same.index(first + number)
            body = f"<< /Title {_string(title)} /Parent {parents[number]} 0 R /Dest [{pages[page - 1]} 0 R /Fit]"
            body += f" /Prev {same[at - 1]} 0 R" if at else ""
            body += f" /Next {same[at + 1]} 0 R" if at + 1 < len(same) else ""
            self.add(body + self._children(first + number, parents, first) + " >>")
        self.objects[root - 1] = f"<< /Type /Outlines{self._children(root, parents, first)} >>".encode()
        return root

    @staticmethod
    def _children(parent: int, parents: Sequence[int], first: int) -> str:
        own = [first + number for number, one in enumerate(parents) if one == parent]
        return f" /First {own[0]} 0 R /Last {own[-1]} 0 R /Count {len(own)}" if own else ""


def _text(lines: Sequence[Line]) -> bytes:
    parts, height, last = ["BT"], float(TOP), LEFT - 1.0
    for line in lines:
        size, text = line[0], line[1]
        left = line[2] if len(line) > 2 else LEFT
        if left <= last or left == LEFT:  # a new line
            height -= size * 1.5
        last = left if left != LEFT else LEFT
        font = "F2" if size > 12 or text.startswith("**") else "F1"
        text = text.removeprefix("**")
        parts.append(f"/{font} {size} Tf 1 0 0 1 {left} {height} Tm {_string(text)} Tj")
    return "\n".join((*parts, "ET")).encode("latin-1")


def _string(text: str) -> str:
    return "(" + text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") + ")"
