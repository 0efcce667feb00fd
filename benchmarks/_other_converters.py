"""Other libraries that read the same formats, for `formats.py`. They are no dependencies."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunnerUp:
    """A library: its name, the package to import, and what makes text from the content of a file with an ending."""

    name: str
    package: str
    convert: Callable[[bytes, str], str]

    def installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None

    def converter(self, ending: str) -> Callable[[bytes], str]:
        return lambda content: self.convert(content, ending)


def _pypdfium2(content: bytes, ending: str) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    try:
        return "\n\n".join(page.get_textpage().get_text_bounded() for page in document)
    finally:
        document.close()


def _mammoth(content: bytes, ending: str) -> str:
    import mammoth

    return str(mammoth.convert_to_markdown(io.BytesIO(content)).value)


def _markitdown(content: bytes, ending: str) -> str:
    from markitdown import MarkItDown, MarkItDownException, StreamInfo

    try:
        return str(MarkItDown().convert_stream(io.BytesIO(content), stream_info=StreamInfo(extension=ending)).markdown)
    except MarkItDownException as problem:
        raise ValueError(str(problem)) from problem


def _striprtf(content: bytes, ending: str) -> str:
    from striprtf.striprtf import rtf_to_text

    return str(rtf_to_text(content.decode("latin-1"), errors="ignore"))


def _odfpy(content: bytes, ending: str) -> str:
    from odf import opendocument, teletype, text

    document = opendocument.load(io.BytesIO(content))
    parts = [*document.getElementsByType(text.H), *document.getElementsByType(text.P)]
    return "\n\n".join(teletype.extractText(one) for one in parts)


def _trafilatura(content: bytes, ending: str) -> str:
    import trafilatura

    return trafilatura.extract(content, output_format="markdown", include_tables=True, include_links=True) or ""


RUNNER_UPS = {
    "pdf": RunnerUp("pypdfium2", "pypdfium2", _pypdfium2),
    "docx": RunnerUp("mammoth", "mammoth", _mammoth),
    "pptx": RunnerUp("markitdown", "markitdown", _markitdown),
    "xlsx": RunnerUp("markitdown", "markitdown", _markitdown),
    "epub": RunnerUp("markitdown", "markitdown", _markitdown),
    "odt": RunnerUp("odfpy", "odf", _odfpy),
    "odp": RunnerUp("odfpy", "odf", _odfpy),
    "ods": RunnerUp("odfpy", "odf", _odfpy),
    "rtf": RunnerUp("striprtf", "striprtf", _striprtf),
    "html": RunnerUp("trafilatura", "trafilatura", _trafilatura),
}
