from __future__ import annotations

import pytest

from small_index import indexed, noted
from watersmeet.core.model import ANY, Plan
from watersmeet.query.file_kinds import FileKinds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("summarise report_17.pdf", "summarise pdf file"),
        ("load /data/x.csv, then plot it", "load csv file, then plot it"),
        ("write it to 'C:\\Work\\Minutes.TXT'.", "write it to 'txt file'."),
        ("crop https://example.com/a/photo.jpg.", "crop jpg file."),
        ("a Node.js app, version 1.2, e.g. this", "a Node.js app, version 1.2, e.g. this"),
        ("keep a.json.bak and x.pdf-old", "keep a.json.bak and x.pdf-old"),
        ("no file", "no file"),
    ],
)
def test_the_kind_stands_for_the_name(text: str, expected: str) -> None:
    assert FileKinds().apply(Plan(text)).text == expected


def test_a_name_that_a_document_contains_stays() -> None:
    words = indexed(noted(host="Settings are in config.yaml, one for each host.")).words(ANY)
    step = FileKinds(words)
    assert step.apply(Plan("what is in /etc/config.yaml")).text == "what is in /etc/config.yaml"
    assert step.apply(Plan("what is in other.yaml")).text == "what is in yaml file"
