#!/usr/bin/env python3
"""Tests of this export: starts its server by `run.py` on a free port, and asks it. Run it: `python3 test_export.py`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OPTIONS = os.environ.get("EXPORT_TEST_OPTIONS", "").split()
"""Options for `run.py`, such as --no-venv."""
START_SECONDS = 600.0
"""Enough to set up the environment at the first start."""


class ExportTest(unittest.TestCase):
    server: subprocess.Popen[bytes]
    address: str

    @classmethod
    def setUpClass(cls) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        cls.address = f"http://127.0.0.1:{port}"
        cls.server = subprocess.Popen([sys.executable, str(HERE / "run.py"), "--port", str(port), *OPTIONS])
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                cls.ask("/health")
                return
            except OSError:
                if cls.server.poll() is not None or time.monotonic() > end:
                    cls.tearDownClass()
                    raise
                time.sleep(0.1)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.terminate()
        cls.server.wait(30)

    @classmethod
    def ask(cls, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(cls.address + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def title(self) -> str:
        """The title of some document."""
        documents = self.ask("/sources")["documents"]
        self.assertTrue(documents)
        return str(documents[0]["title"] or documents[0]["document"])

    def test_health(self) -> None:
        self.assertEqual(self.ask("/health")["status"], "ok")

    def test_stats_and_sources_agree_with_the_manifest(self) -> None:
        manifest = json.loads((HERE / "export.json").read_text("utf8"))
        self.assertEqual(self.ask("/stats")["documents"], manifest["documents"])
        self.assertEqual(self.ask("/sources")["total"], manifest["documents"])

    def test_search_finds_a_document_by_its_title_and_chunks_reads_it(self) -> None:
        found = self.ask("/search", {"query": self.title()[:500], "top_n": 3})
        self.assertTrue(found["results"])
        self.assertEqual(found["failures"], [])
        chunk = self.ask(f"/chunks/{found['results'][0]['id']}")
        self.assertEqual(chunk["document"], found["results"][0]["document"])

    def test_chat_answers_with_citations_or_says_no(self) -> None:
        answer = self.ask("/chat", {"question": self.title()[:500]})
        self.assertTrue(answer["answer"])
        self.assertTrue(answer["citations"] or answer["no_good_match"])

    def test_an_unknown_chunk_is_an_error_that_says_so(self) -> None:
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.ask("/chunks/no-such-chunk")
        self.assertEqual(caught.exception.code, 404)
        caught.exception.close()


if __name__ == "__main__":
    unittest.main()
