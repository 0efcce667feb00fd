"""Reading a folder opens no connection: every system call of a sync and its child process is looked at."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostile_files import docx, odf, pdf_with, xlsx

pytestmark = pytest.mark.slow
SYNC = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()", "sync", "files", "--json"]
FILES = {
    "a.md": b"# Gulls\n\n![gull](https://example.org/gull.png) and [more](https://example.org).",
    "b.pdf": pdf_with(b"BT /F 12 Tf 50 700 Td (Terns nest here.) Tj ET"),
    "c.docx": docx("<w:p><w:r><w:t>Plovers run.</w:t></w:r></w:p>"),
    "d.xlsx": xlsx('<row r="1"><c r="A1" t="inlineStr"><is><t>Curlew</t></is></c></row>'),
    "e.odt": odf("text", "<office:text><text:p>Avocet</text:p></office:text>"),
    "f.html": b'<link rel="stylesheet" href="https://example.org/x.css"><script src="https://example.org/x.js"></script>'
    b'<h1>Rails</h1><img src="https://example.org/rail.png"><iframe src="https://example.org"></iframe>',
    "g.py": b'import requests\n\ndef fetch() -> None:\n    """Fetch a bird."""\n    requests.get("https://example.org")\n',
    "h.ipynb": b'{"cells": [{"cell_type": "markdown", "source": ["# Snipe"]}], "nbformat": 4, "metadata": {}}',
    "i.eml": b"Subject: Ruff\nContent-Type: text/html\n\n<img src='https://example.org/track.gif'>Ruff",
    "j.json": b'{"$schema": "https://example.org/schema.json", "$ref": "https://example.org/other.json"}',
    "k.yaml": b"openapi: 3.0.0\ninfo: {title: Birds}\npaths:\n  /birds: {$ref: 'https://example.org/paths.yaml'}\n",
    "l.rst": b"Knots\n=====\n\n.. include:: https://example.org/x.rst\n.. image:: https://example.org/x.png\n",
    "m.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><image href='https://example.org/x.png'/></svg>",
}


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_connection_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    trace = tmp_path / "trace"
    env = {**os.environ, "WATERSMEET__INDEX__DENSE": "", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c")}
    done = subprocess.run(
        [
            "strace",
            "-f",
            "-qq",
            "-s",
            "200",
            "-e",
            "trace=connect,sendto,sendmsg,sendmmsg,bind,execve",
            "-o",
            str(trace),
            *SYNC,
        ],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("this machine allows no tracing")
    assert done.returncode == 0, done.stderr
    calls = trace.read_text()
    assert json.loads(done.stdout)["added"] == len(FILES) - 1  # no parser reads .svg
    assert "parser_child" in calls  # the child was traced, too
    assert re.findall(r".*AF_INET.*", calls) == []
