"""Keys of imports and of the files that they mean; tests/engine/sync/test_code_folders.py resolves them in folders."""

from __future__ import annotations

import pytest

from watersmeet.core.imports import IMPORT, import_key, import_names


@pytest.mark.parametrize(
    ("document", "target", "key"),
    [
        ("a/b.py", "json.decoder", IMPORT),
        ("a/b.py", ".c", "import:py//a/c"),
        ("a/b.py", "..c.d", "import:py//c/d"),
        ("a/b.py", "...c", IMPORT),
        ("b.py", ".c", "import:py//c"),
        ("b.py", "..c", IMPORT),
        ("a/b.ts", "./c.js", "import:js//a/c"),
        ("a/b.ts", "../c.test", "import:js//c.test"),
        ("a/b.ts", "react", IMPORT),
        ("b.go", "net/http", IMPORT),
        ("b.go", "fmt", IMPORT),
        ("b.go", "a.org/x/y/z", "import:go/y/z"),
        ("b.md", "c", IMPORT),
    ],
)
def test_keys(document: str, target: str, key: str) -> None:
    assert import_key(document, target) == key


def test_no_document_has_the_empty_key() -> None:
    for document in ("a.py", "__init__.py", "index.js", "main.go", "a/b/c.go", "x.md", "src/index.ts", ".py"):
        assert IMPORT not in import_names(document)
        assert all("/" in key for key in import_names(document))
