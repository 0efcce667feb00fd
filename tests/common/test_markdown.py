"""The dialect of Markdown that is read everywhere."""

from __future__ import annotations

from watersmeet.common.markdown import markdown


def test_notes_and_documentation_are_read() -> None:
    text = "[[Note|é]] ~~old~~[^1]\n\n| a |\n|---|\n\n- [x] done\n\n> [!NOTE]\n> b\n\n[^1]: c\n"
    events = list(markdown().events_with_range(text))
    told = str([event for event, _ in events])
    for part in ("WikiLink", "Strikethrough", "FootnoteReference", "Table", "TaskListMarker", "{'BlockQuote': 'Note'}"):
        assert part in told
    start, end = next((span["start"], span["end"]) for event, span in events if event == {"Text": "é"})
    assert text.encode()[start:end] == "é".encode()
    assert markdown() is markdown()
