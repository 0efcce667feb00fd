from __future__ import annotations

from watersmeet.core.model import Plan
from watersmeet.stage.per_document import PerDocument


def test_the_best_two_of_each_document(shelf, ranked) -> None:
    for number in range(8):
        shelf.put(f"{number}", document="long.md" if number < 6 else "short.md")
    ranking = ranked({f"{number}": 1 - number / 10 for number in range(8)})
    assert [hit.chunk for hit in PerDocument(shelf).apply(ranking, Plan("q")).hits] == ["0", "1", "6", "7"]
    assert [hit.chunk for hit in PerDocument(shelf, max_chunks=1).apply(ranking, Plan("q")).hits] == ["0", "6"]


def test_a_long_document_does_not_fill_the_answer(staged, write) -> None:
    sections = "".join(f"\n## Part {n}\n\n{'The tide, the tide. ' * 60}\n" for n in range(20))
    vault = write({"long.md": f"# Tides\n{sections}", "short.md": "# Moon\n\nIt makes the tide rise.\n"})
    plain = staged("top")
    plain.sync([vault])
    assert {result.document for result in plain.search("tide").results} == {"long.md"}
    results = staged("per_document", "top").search("tide").results
    assert [result.document for result in results] == ["long.md", "long.md", "short.md"]
