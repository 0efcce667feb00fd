"""Kinds of files instead of their names: `/tmp/report_17.pdf` is searched as `pdf file`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from watersmeet.core.model import Plan
from watersmeet.core.ports import Words
from watersmeet.core.tokens import forms

KINDS = (
    "pdf docx? xlsx? pptx? odt ods odp rtf txt csv tsv json jsonl xml ya?ml html? parquet sqlite ipynb epub tex ics eml"
    " png jpe?g gif svg webp bmp tiff? mp3 wav flac ogg m4a mp4 avi mov mkv webm zip tar gz"
)
"""Endings of files that tools read and write. Those of programs are left out: Node.js is no file."""


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(rf"[^\s\"'`“”‘’<>()\[\]{{}},;]*[\w%-]\.({'|'.join(KINDS.split())})(?!\w|[.-]\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FileKinds:
    """A query step that replaces names of files that no document contains.

    A task names the file that it is about. The name says nothing about the tool, and its words lead elsewhere; its kind
    may be what a tool is for. No recipe uses this step: it helps on one set of tool tasks only.
    """

    words: Words | None = None

    def apply(self, plan: Plan) -> Plan:
        if "." not in plan.text:
            return plan
        text = _pattern().sub(lambda found: self._kind(found[0], found[1]), plan.text)
        return replace(plan, text=text) if text != plan.text else plan

    def _kind(self, name: str, ending: str) -> str:
        base = re.split(r"[/\\]", name)[-1]
        if self.words is not None and any(self.words.frequency("forms", form) for form in forms(base)):
            return name
        return f"{ending.lower()} file"
