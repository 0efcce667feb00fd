"""Former names of settings and components, of watersmeet and of its predecessors, for hints in error messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STAGES = 'put "{}" into pipeline.stages'
_WEIGHTS = "write weights = {{ {} = … }} under [fusion.convex], or under [fusion.rrf] with that fusion"
_CROSSENCODER = _STAGES.format("crossencoder")
_FOLDERS = "name the folders when you call `watersmeet sync PATH`"
_SERVE = "use the flags of `watersmeet serve --help`"
_EF_SEARCH = "nothing: the search is exact; for vectors in DocumentDB write ef_search under [records.mongodb]"
_MODEL = "set index.dense to a provider such as onnx, ollama or openai, and its model under [embed.PROVIDER]"

SETTINGS = {
    "adaptive_weights_enabled": 'put "adapt" into pipeline.understand',
    "alpha": _WEIGHTS.format("dense"),
    "auto_min_documents": "write auto_min_documents under [two_stage]",
    "candidate_pool": "write pool under [two_stage], or under [pipeline]",
    "chunk_overlap": "write overlap under [chunk.headings], or for one format under [parse.FORMAT]",
    "chunk_size": "write max_chars under [chunk.headings]",
    "code_search_enabled": 'identifiers are found by the signal "exact", which is used by default',
    "code_search_weight": _WEIGHTS.format("exact"),
    "dedup_enabled": _STAGES.format("dedupe"),
    "dedup_similarity_threshold": "write min_similarity under [stage.dedupe]",
    "documents_limit": "write documents under [two_stage]",
    "documents_path": _FOLDERS,
    "ef_search": _EF_SEARCH,
    "efsearch": _EF_SEARCH,
    "embedding_model": _MODEL,
    "embedding_provider": _MODEL,
    "exclude_hidden_dirs": "write hidden = true under [source.folder] to read them",
    "fusion_method": "write fusion under [pipeline]",
    "graph_weight": _WEIGHTS.format("neighbours"),
    "hybrid_alpha": _WEIGHTS.format("dense"),
    "index_path": "use `--index DIR`; the default is .watersmeet in the folder",
    "keyword_weight": _WEIGHTS.format("lexical"),
    "lexical_weight": _WEIGHTS.format("lexical"),
    "max_chunk_chars": "write max_chars under [chunk.headings]",
    "max_chunks_per_doc": f"{_STAGES.format('per_document')} and write max_chunks under [stage.per_document]",
    "max_results": "use `--top-n N`",
    "min_chunk_chars": "write min_chars under [chunk.headings]",
    "mmr_enabled": _STAGES.format("dedupe"),
    "mmr_lambda": "write min_similarity under [stage.dedupe]",
    "ngram_dedup_enabled": _STAGES.format("dedupe"),
    "ngram_dedup_threshold": "write min_similarity under [stage.dedupe]",
    "overlap_chars": "chunks do not overlap; the stage `context` adds the text around a hit",
    "parent_retrieval_enabled": f"{_STAGES.format('context')} and write parent = true under [stage.context]",
    "query_expansion_enabled": 'put "expand" into pipeline.understand',
    "recency_bias": f"{_STAGES.format('recency')}; its factors are under [stage.recency]",
    "recency_weight": f"{_STAGES.format('recency')}; its factors are under [stage.recency]",
    "rerank": _CROSSENCODER,
    "rerank_enabled": _CROSSENCODER,
    "rerank_model": "write model under [stage.crossencoder]",
    "rerank_top_k": "write top_n under [stage.crossencoder]",
    "rerank_top_n": "write top_n under [stage.crossencoder]",
    "reranker": _CROSSENCODER,
    "reranker_model": "write model under [stage.crossencoder]",
    "retrieval.fusion.method": "write fusion under [pipeline]",
    "retrieval.fusion.weights": "write weights under [fusion.rrf] or [fusion.convex]",
    "retrieval.hierarchical.auto": "write auto under [two_stage]",
    "retrieval.hierarchical.enabled": "write enabled under [two_stage]",
    "rrf_k": "write k under [fusion.rrf]",
    "rrf_k_constant": "write k under [fusion.rrf]",
    "search_fusion_method": "write fusion under [pipeline]",
    "sections_per_document": "write sections under [two_stage]",
    "semantic_weight": _WEIGHTS.format("dense"),
    "sparse_weight": _WEIGHTS.format("sparse"),
    "top_k": "write pool under [pipeline], or use `--top-n N`",
    "top_n": "use `--top-n N`",
    "vector_search_ef_search": _EF_SEARCH,
    "vector_weight": _WEIGHTS.format("dense"),
}
"""Hints by the full dotted name, or by its last part."""

RENAMED = {
    "fusion.convex.usual": "usual_lead",
    "index.take_part": "min_coverage",
    "query.words.asking": "keep_question_words",
    "registry.own_tools": "search_tools",
    "registry.words_signals": "lexical_signals",
    "registry.words_stages": "lexical_stages",
    "signal.graph.least": "min_share",
    "source.folder.max_bytes_jsonl": "max_bytes_records",
    "stage.dedupe.alike": "min_similarity",
    "stage.dedupe.look": "depth",
    "stage.floor.least": "min_results",
    "stage.floor_unless_mentioned.least": "min_results",
    "stage.phrase.apart": "max_distance",
    "stage.phrase.look": "depth",
    "stage.tools.least": "min_tools",
    "stage.document_support.after": "skip_passages",
    "stage.document_support.most": "max_passages",
    "stage.exact_first.most": "max_chunks",
    "stage.per_document.most": "max_chunks",
    "query.identifier_weight.least": "min_weight",
    "query.identifier_weight.less": "semantic_discount",
    "query.sentences.least": "min_words",
    "query.sentences.most": "max_sentences",
}
"""Settings renamed in 0.1, by their former dotted names."""

TABLES = {
    "chunking": "see [chunk.headings]",
    "embedding": _MODEL,
    "embeddings": _MODEL,
    "hierarchical": "see [two_stage]",
    "indexing": "see [index] and [source.folder]",
    "llm": _MODEL,
    "loaders": "see [parse.FORMAT]: include, exclude, max_chars and overlap of each format",
    "parsers": "the file ending selects the parser; [source.folder] include selects the files",
    "projects": _FOLDERS,
    "rerank": f"{_CROSSENCODER}; see [stage.crossencoder]",
    "retrieval": "see [pipeline], [fusion.rrf] and [two_stage]",
    "router": "write rules under [query.route]",
    "routers": "write rules under [query.route]",
    "search": "see [pipeline], [fusion.convex] and [stage.…]",
    "server": _SERVE,
    "vector_store": "nothing: vectors are files of the index; index.vectors = false switches them off",
}
"""Hints for tables of predecessors."""

COMPONENTS = {
    ("query", "lean"): 'it is called "identifier_weight" now',
    ("query", "learnt"): 'it is called "learned_weights" now',
    ("query", "parts"): 'it is called "sentences" now',
    ("stage", "company"): 'it is called "document_support" now',
    ("stage", "full"): 'it is called "full_match" now',
    ("stage", "held"): 'it is called "exact_first" now',
    ("stage", "perdoc"): 'it is called "per_document" now',
    ("fusion", "additive"): 'write "legacy", which counts `dense` and `boost` only',
    ("fusion", "auto"): 'write "convex", the default',
    ("fusion", "hybrid"): 'write "convex", the default',
    ("fusion", "weighted"): 'write "linear", with weights under [fusion.linear]',
    ("fusion", "weighted_rrf"): 'write "rrf", with weights under [fusion.rrf]',
    ("signal", "bm25"): 'write "lexical"',
    ("signal", "recency"): 'put "recency" into pipeline.stages: it is a stage',
    ("signal", "semantic"): 'write "dense"',
    ("signal", "splade"): 'write "sparse", and index.sparse = "splade"',
    ("signal", "vector"): 'write "dense"',
    ("stage", "dedup"): 'write "dedupe"',
    ("stage", "mmr"): 'write "dedupe"',
    ("stage", "rerank"): 'write "crossencoder"',
    ("stage", "reranker"): 'write "crossencoder"',
    ("store", "lancedb"): 'write "tantivy" or "fts5": vectors are files of the index',
    ("store", "qdrant"): 'write "tantivy" or "fts5": vectors are files of the index',
    ("store", "sqlite"): 'write "fts5"',
    ("embed", "huggingface"): 'write "onnx", and the model as embed.onnx.model',
    ("embed", "local"): 'write "onnx"',
}


def component_hint(kind: str, name: str) -> str:
    """The hint for a former component name; empty if there is none."""
    return COMPONENTS.get((kind, name.lower().replace("-", "_")), "")


def setting_hint(name: str) -> str:
    """The hint for a former setting name, by its dotted name; empty if there is none."""
    name = name.lower()
    if name in RENAMED:
        return f"it is called {RENAMED[name]!r} now"
    return SETTINGS.get(name) or SETTINGS.get(name.rpartition(".")[2], "")


def table_hint(name: str, values: Any) -> str:
    """The hint for an unknown table: for each of its settings that has one, or for the whole."""
    if not isinstance(values, Mapping):
        return setting_hint(name)
    hints = [f"for {path} {hint}" for path in _names(name, values) if (hint := setting_hint(path))]
    return "; ".join(hints) or TABLES.get(name.lower(), "")


def _names(prefix: str, values: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key, value in values.items():
        path = f"{prefix}.{key}"
        found += _names(path, value) if isinstance(value, Mapping) and not setting_hint(path) else [path]
    return found
