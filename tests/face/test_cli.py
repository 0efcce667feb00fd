"""Every command as CONTRACT.md has it: fields, types and exit codes, through the real command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]

ANSWER = {
    "query": str,
    "mode": str,
    "recipe": str,
    "results": list,
    "failures": list,
    "took_ms": float,
    "silent": dict,
    "confidence": float | None,
    "confidence_words": str,
    "no_good_match": bool,
    "stale": int | None,
}
RESULT = {
    "id": str,
    "document": str,
    "kind": str,
    "title": str,
    "headings": list,
    "path": str,
    "where": str,
    "lines": list,
    "text": str,
    "score": float,
    "fusion_score": float,
    "similarity": type(None),
    "evidence": list,
}


def has_shape(value: dict[str, Any], shape: dict[str, Any], exactly: bool = True) -> None:
    for name, kind in shape.items():
        assert isinstance(value[name], kind), name
    if exactly:
        assert list(value) == list(shape)


# ------------------------------------------------------------ sync


def test_sync_reports_as_json(ask: Ask, fresh: Path) -> None:
    (fresh / "binary.md").write_bytes(bytes(range(256)) * 40)
    first = ask("sync", ".", cwd=fresh)
    has_shape(
        first,
        dict.fromkeys(("added", "changed", "moved", "removed", "unchanged"), int)
        | {
            "skipped": list,
            "warnings": list,
            "notes": list,
            "documents": int,
            "chunks": int,
            "embedded": int,
            "took_ms": float,
            "cached": int,
        },
    )
    assert (first["added"], first["documents"], first["embedded"]) == (9, 9, 0)
    assert first["chunks"] >= first["documents"]
    assert [(item["path"].rpartition("/")[2], bool(item["reason"])) for item in first["skipped"]] == [
        ("binary.md", True)
    ]
    assert [item["path"].rpartition("/")[2] for item in first["warnings"]] == ["broken.md"]

    (fresh / "ideas.txt").rename(fresh / "thoughts.txt")
    (fresh / "index.md").write_text("# Home\n\nNew words.\n")
    (fresh / "links" / "all.md").unlink()
    second = ask("ingest", ".", cwd=fresh)  # the alias
    counts = {name: second[name] for name in ("added", "changed", "moved", "removed", "unchanged")}
    assert counts == {"added": 0, "changed": 1, "moved": 1, "removed": 1, "unchanged": 6}


def test_sync_in_words(run: Run, fresh: Path) -> None:
    done = run("sync", ".", cwd=fresh)
    assert done.returncode == 0
    first, *between, last = done.stdout.splitlines()
    assert first.startswith("9 added in ")
    assert any(line.startswith("  warning: ") and "broken.md" in line for line in between)
    assert last.startswith("9 documents, ")
    assert last.endswith(" in .watersmeet")
    again = run("sync", ".", "--quiet", cwd=fresh)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_sync_with_every_flag(run: Run, ask: Ask, fresh: Path, tmp_path: Path) -> None:
    index = str(tmp_path / "elsewhere")
    flags = ["--collection", "handbook", "--meta", "sdk=python", "--include", "*.md", "--exclude", "links/"]
    report = ask("sync", "vault", *flags, "--index", index, cwd=tmp_path)
    assert report["documents"] == 4
    assert not (fresh / ".watersmeet").exists()
    assert not (tmp_path / ".watersmeet").exists()
    found = ask("search", "keys", "--filter", "sdk=python", "--filter", "collection=handbook", "--index", index)
    assert found["results"][0]["document"] == "guides/keys.md"
    ask("search", "keys", "--filter", "sdk=rust", "--index", index, code=1)
    assert ask("sync", "vault", "--recreate", "--index", index, cwd=tmp_path)["added"] == 9


# ------------------------------------------------------------ search


def test_search_as_json(ask: Ask, synced: Path) -> None:
    answer = ask("search", "how often should I rotate keys")
    has_shape(answer, ANSWER)
    assert (answer["query"], answer["mode"], answer["recipe"]) == (
        "how often should I rotate keys",
        "lexical",
        "default",
    )
    assert answer["failures"] == []
    for result in answer["results"]:
        has_shape(result, RESULT)
        assert 0 <= result["score"] <= 1
        for evidence in result["evidence"]:
            has_shape(evidence, {"by": str, "rank": int, "score": float}, exactly=False)
    best = answer["results"][0]
    assert (best["document"], best["score"], best["title"]) == ("guides/keys.md", 1.0, "Keys")
    assert best["path"] == str(synced / "guides" / "keys.md")


def test_lines_are_those_of_the_file(ask: Ask, synced: Path) -> None:
    for result in ask("search", "port proxy keys expired tides welcome", "-n", "50")["results"]:
        first, last = result["lines"]
        lines = Path(result["path"]).read_text("utf8").splitlines()[first - 1 : last]
        shown = [line for line in result["text"].splitlines() if line.strip()]
        assert set(shown) <= set(lines), result["document"]
        assert lines[-1] == shown[-1]


def test_the_alias_the_mode_and_the_words_of_a_query(ask: Ask) -> None:
    for mode in ("lexical", "exact"):
        answer = ask("query", "KEY-2024-0042", "--mode", mode)
        assert (answer["mode"], answer["results"][0]["document"]) == (mode, "guides/keys.md")
    assert ask("search", "rotate", "keys")["query"] == "rotate keys"  # quotes may be left out


def test_explain_says_which_signal_put_it_there(run: Run, ask: Ask) -> None:
    done = run("search", "KEY-2024-0042", "--explain", "-n", "1")
    assert done.stdout.splitlines()[0] == "[lexical#1, exact#1] Keys"
    assert done.stderr.startswith("mode lexical, recipe default: ")
    ranks = {e["by"]: e["rank"] for e in ask("search", "KEY-2024-0042", "-n", "1")["results"][0]["evidence"]}
    assert ranks == {"lexical": 1, "exact": 1, "exact_first": 1}
    assert run("search", "estuaries", "--explain", "--quiet").stdout.splitlines()[0] == "[lexical#1] ideas"
    assert run("search", "estuaries", "--explain", "--quiet").stderr == ""


def test_search_in_words(run: Run) -> None:
    done = run("search", "when is an expired key refused?", "-n", "1")
    head, where, *text = done.stdout.splitlines()
    assert head == "1. Keys"
    assert where.startswith("   guides/keys.md:")
    assert any("expired" in line for line in text)
    assert done.stderr == ""


def test_top_n_filters_and_dates(ask: Ask) -> None:
    assert len(ask("search", "keys", "--top-n", "2")["results"]) == 2
    documents = {r["document"] for r in ask("search", "see keys", "--filter", "path=links/**")["results"]}
    assert documents
    assert all(document.startswith("links/") for document in documents)
    for good in (["tag=security"], ["tag=security", "tag=beta"], ["kind=document", "tag=security"]):
        flags = [part for pair in good for part in ("--filter", pair)]
        assert ask("search", "keys", *flags)["results"][0]["document"] == "guides/keys.md"
    ask("search", "keys", "--filter", "tag=security", "--filter", "created=2026-01-05", code=1)
    assert ask("search", "archive", "--since", "7d")["results"]  # written now, whatever it says of 2026-01
    ask("search", "archive", "--since", "2026-01-01", "--before", "2026-02", code=1)


@pytest.mark.parametrize(
    "query", ["NOT keys AND", 'keys"', "keys*", "(keys", "foo:keys", "keys OR", "-keys", "a\tkeys"]
)
def test_a_query_is_text(ask: Ask, query: str) -> None:
    assert ask("search", "--", query)["results"][0]["document"] in ("guides/keys.md", "links/plain.md")


def test_nothing_found_is_exit_code_1(run: Run, ask: Ask) -> None:
    assert ask("search", "xylophone", code=1)["results"] == []
    done = run("search", "xylophone")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "nothing found\n")
    for query in ("?!", "", "  "):
        done = run("search", query)
        assert done.returncode == 1
        assert "no letters or digits" in done.stderr
    assert run("search", "xylophone", "--quiet").stderr == ""


def test_search_in_a_folder_indexes_it_first(ask: Ask, run: Run, fresh: Path, tmp_path: Path) -> None:
    assert ask("search", "estuaries", "--in", str(fresh), cwd=tmp_path)["results"][0]["document"] == "ideas.txt"
    (fresh / "more.md").write_text("# More\n\nBrackish lagoons.\n")
    assert ask("search", "lagoons", "--in", "vault", cwd=tmp_path)["results"][0]["document"] == "more.md"
    assert not (fresh / ".watersmeet").exists()


# ------------------------------------------------------------ documents


def test_get_a_document_and_a_chunk(ask: Ask, run: Run) -> None:
    shape = {"document": str, "kind": str, "title": str, "path": str, "where": str, "text": str, "fields": dict}
    found = ask("get", "guides/setup.md")
    has_shape(found, {**shape, "links": list, "chunks": list})
    assert found["fields"]["created"] == "2026-01-05"
    for part in ("# Setup", "## Ports", "port 7878", "### Behind a proxy", "TRN-1042"):
        assert part in found["text"]
    assert found["text"].count("## Ports") == 1
    for chunk in found["chunks"]:
        has_shape(chunk, {"id": str, "headings": list, "where": str, "lines": list})
    last = ask("get", found["chunks"][-1]["id"])
    assert (last["document"], [c["id"] for c in last["chunks"]]) == ("guides/setup.md", [found["chunks"][-1]["id"]])
    assert last["text"] in found["text"]
    links = ask("get", "links/heading.md")["links"]
    assert links == [{"target": "Keys", "heading": "Errors", "alias": "", "type": "wiki"}]
    done = run("get", "ideas.txt")
    assert done.stdout == "ideas\nideas.txt\n\nPlain ideas about tides and estuaries.\n"
    assert run("get", "ideas.txt", "--quiet").stdout == "Plain ideas about tides and estuaries.\n"


def test_related_follows_links_both_ways(ask: Ask, run: Run) -> None:
    answer = ask("related", "guides/keys.md")
    has_shape(answer, ANSWER)
    for result in answer["results"]:
        has_shape(result, RESULT)
    found = [result["document"] for result in answer["results"]]
    assert sorted(found) == ["index.md", "links/alias.md", "links/all.md", "links/heading.md", "links/plain.md"]
    assert ask("related", "guides/keys.md", "-n", "1")["results"] == answer["results"][:1]
    rows = [line.split("\t") for line in run("related", "index.md").stdout.splitlines()]
    assert sorted((row[0], row[3]) for row in rows) == [
        ("guides/keys.md", "to (markdown)"),
        ("guides/setup.md", "to (wiki)"),
    ]
    done = run("related", "ideas.txt")
    assert (done.returncode, done.stdout) == (1, "")
    assert run("related", "ideas.txt", "--quiet").stderr == ""
    assert ask("related", "ideas.txt", code=1)["results"] == []


def test_list(ask: Ask, run: Run) -> None:
    documents = ask("list")["documents"]
    for document in documents:
        has_shape(document, {"document": str, "kind": str, "title": str, "modified": (str, type(None)), "chunks": int})
    names = [document["document"] for document in documents]
    assert names == sorted(names)
    assert len(names) == 9
    assert [line.split("\t")[0] for line in run("list").stdout.splitlines()] == names


def test_remove(ask: Ask, run: Run, fresh: Path) -> None:
    run("sync", ".", "--quiet", cwd=fresh)
    assert ask("remove", "ideas.txt", "index.md", cwd=fresh) == {"removed": 2}
    ask("search", "estuaries", cwd=fresh, code=1)
    assert run("remove", "broken.md", cwd=fresh).stdout == "removed 1\n"
    done = run("remove", "broken.md", cwd=fresh)
    assert done.returncode == 1
    assert "hint: " in done.stderr


# ------------------------------------------------------------ looking at the index


def test_status(ask: Ask, run: Run, synced: Path) -> None:
    status = ask("status")
    shape = {"documents": int, "chunks": int, "kinds": dict, "signals": dict, "fingerprint": dict, "size_bytes": int}
    has_shape(status, shape, exactly=False)
    assert status["calibration"]["collections"] == {}
    each = status["bytes_per_chunk"]
    assert {"catalogue", "words"} <= each.keys()
    assert sum(each.values()) * status["chunks"] == pytest.approx(status["size_bytes"], rel=0.01)
    assert status["documents"] == sum(status["kinds"].values()) == 9
    for signal in status["signals"].values():
        has_shape(signal, {"coverage": float, "model": str})
    done = run("status", "--quiet", "--index", str(synced / ".watersmeet"), cwd=synced.parent)
    assert done.stdout.startswith("9 documents, ")
    assert str(synced) in done.stdout


def test_doctor(ask: Ask, run: Run, fresh: Path) -> None:
    checks = ask("doctor")["checks"]
    for check in checks:
        has_shape(check, {"name": str, "ok": bool, "detail": str, "hint": str})
        assert check["ok"]
    assert run("doctor").stdout.splitlines()[0].split() == ["ok", "catalogue", "sound"]
    assert run("doctor", "--quiet").stdout == ""
    run("sync", ".", "--quiet", cwd=fresh)
    run("sync", ".", "--quiet", "--index", "../apart", cwd=fresh)
    moved = fresh.rename(fresh.with_name("moved"))
    assert all(check["ok"] for check in ask("doctor", cwd=moved)["checks"])
    ill = ask("doctor", "--index", "../apart", cwd=moved, code=2)["checks"]
    assert [(check["name"], bool(check["hint"])) for check in ill if not check["ok"]] == [("sources", True)]


def test_config_show(ask: Ask, run: Run, tmp_path: Path) -> None:
    shown = ask("config", "show", "--index", "unused", "--quiet")
    assert (shown["recipe"], shown["settings"]["index.chunk"]) == ("default", "headings")
    (tmp_path / "watersmeet.toml").write_text("[fusion.rrf]\nk = 20\n")
    environ = {"WATERSMEET__PIPELINE__POOL": "50"}
    settings = ask("config", "show", "--origin", cwd=tmp_path, **environ)["settings"]
    assert settings["fusion.rrf.k"] == {"value": 20, "origin": str(tmp_path / "watersmeet.toml")}
    assert settings["pipeline.pool"] == {"value": 50, "origin": "environment"}
    assert settings["pipeline.signals"]["origin"] == "recipe default"
    assert settings["index.chunk"] == {"value": "headings", "origin": "default"}
    lines = run("config", "show", "--origin", cwd=tmp_path).stdout.splitlines()
    assert f"fusion.rrf.k = 20  # {tmp_path / 'watersmeet.toml'}" in lines
    assert 'index.chunk = "headings"' in run("config", "show").stdout.splitlines()
