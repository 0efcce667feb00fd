"""Schemas of requests and answers for OpenAPI and MCP. A request with any other field is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from watersmeet.core.model import Answer
from watersmeet.engine.ask.model import MAX_TURN_LENGTH, MAX_TURNS, AnswerText
from watersmeet.engine.query import classification
from watersmeet.engine.query.why_not import WhyNot
from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
from watersmeet.face.ask import AskParams
from watersmeet.face.index_writes import SyncParams
from watersmeet.face.listing import ListParams, TagParams
from watersmeet.face.schema import Body, answer, body
from watersmeet.face.search import SearchParams
from watersmeet.face.service import MAX_QUERY_LENGTH
from watersmeet.present import mcp_configuration, pack
from watersmeet.present.registry import ANSWER_GROUPS, EntityAnswer, ToolAnswer

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_LENGTH)]

SearchBody = body(
    SearchParams,
    "SearchBody",
    examples=[
        {"query": "how do I rotate keys?"},
        {"query": "TRN-1042", "filters": {"tag": ["security"]}, "since": "1y", "top_n": 5, "budget": 1000},
    ],
)
ConversationId = Annotated[str, Field(max_length=100, pattern=r"^[\w.:-]*$")]


class TurnBody(Body):
    """A question of a conversation with its answer."""

    question: Query
    answer: str = Field("", max_length=MAX_TURN_LENGTH)
    query: str = Field("", max_length=MAX_QUERY_LENGTH, description="the question as it was searched for")


ChatBody = body(
    AskParams,
    "ChatBody",
    examples=[
        {"question": "how do I rotate keys?"},
        {"question": "how often?", "conversation_id": "c1", "stream": True},
    ],
    conversation_id=(
        ConversationId,
        Field("", description="a name for the conversation: a follow-up question is read with the last ten turns"),
    ),
    history=(
        Annotated[list[TurnBody], Field(max_length=MAX_TURNS)],
        Field([], description="the turns before this question, in place of a `conversation_id`"),
    ),
    stream=(
        bool | None,
        Field(None, description="send the answer as it grows, as server-sent events; default: as `Accept` says"),
    ),
)
ChatAnswer = answer(AnswerText, "ChatAnswer", conversation_id=(str, ""))
SemanticBody = body(
    EntityRequest,
    "SemanticBody",
    examples=[{"query": "weather forecast", "entity_types": ["mcp_server", "tool"], "max_results": 10}],
)
ListQuery = body(
    ListParams,
    "ListQuery",
    strict=False,
    limit=(Annotated[int, Field(ge=1, le=1000, examples=[20])], 100),
    offset=(Annotated[int, Field(ge=0, le=1_000_000_000)], 0),
)
TagQuery = body(TagParams, "TagQuery", strict=False)
ToolQuery = body(ToolRequest, "ToolQuery", strict=False)
Pack = answer(pack.Pack)


class Indexing(BaseModel):
    done: int
    files: int | None = Field(description="null: not counted yet")


SearchAnswer = answer(
    Answer,
    "SearchAnswer",
    indexing=(
        Indexing | None,
        Field(None, description="how many files of the folder are indexed, while some are missing"),
    ),
    notes=(list[str], Field([], description="remarks on the answer, such as filters that match nothing")),
    pack=(Pack | None, None),
    why_not=(answer(WhyNot) | None, None),
)
GroupedAnswer = answer(
    EntityAnswer,
    "GroupedAnswer",
    **{f"total_{name}": (int, ...) for name in ANSWER_GROUPS},
)
Tools = answer(ToolAnswer, "Tools")
ServerConfiguration = answer(mcp_configuration.ServerConfiguration)
Classified = answer(classification.Classification)


class Document(BaseModel):
    model_config = ConfigDict(extra="allow")
    document: str  # its id
    kind: str
    title: str
    path: str  # of the file, or its address
    where: str  # place of the chunk, if one was asked for
    text: str
    fields: dict[str, Any]  # front matter and metadata
    links: list[dict[str, Any]]  # links to and from other documents
    chunks: list[dict[str, Any]]  # its chunks, with their ids and places


class Listed(BaseModel):
    document: str  # its id
    kind: str
    title: str
    modified: str | None  # ISO
    chunks: int  # how many it has


class Documents(BaseModel):
    documents: list[Listed]
    total: int  # how many there are in all


class SourceStatus(BaseModel):
    root: str  # path or address
    kind: str  # the source that reads it: folder, git, site, pypi, ...
    name: str
    prefix: str  # what the ids of its documents begin with
    collection: str
    documents: int
    synced: str | None = Field(description="when it was last read as a whole")
    overdue: bool = Field(description="whether the next sync reads it again, although nothing names it")
    problem: str | None = Field(description="what has gone wrong since it was read")


class Status(BaseModel):
    model_config = ConfigDict(extra="allow")
    documents: int
    chunks: int
    kinds: dict[str, int]  # documents of each kind
    signals: dict[str, dict[str, Any]]  # share of the chunks that each signal covers
    sources: list[SourceStatus] = Field([], description="the folders and addresses that it covers")
    bytes_per_chunk: dict[str, float] = Field({}, description="size on disk of each part; empty if it is not known")
    jobs: dict[str, int] | None = Field(None, description="jobs of an index on servers: waiting, running, failed")
    indexing: Indexing | None = None


class Roots(BaseModel):
    roots: list[SourceStatus]


class OpenedResult(BaseModel):
    query: str
    document: str


class Quality(BaseModel):
    model_config = ConfigDict(extra="allow")
    documents: int
    shown: bool = Field(description="whether the caller may see the evaluation and the opened results")
    evaluation: dict[str, Any] | None = Field(description="the last `watersmeet eval` of this index; null: none")
    calibration: dict[str, Any] = Field(description="weights before and after learning, and from how much")
    keep_opened: bool = Field(description="whether opened results are stored")
    opened_results: list[OpenedResult]
    tuned_encoders: list[str] = Field(description="signals whose encoder of queries was tuned for this index")
    commands: dict[str, str] = Field(description="what to run to measure, to teach and to undo")


class Health(BaseModel):
    status: str  # ok, starting, busy or not ready


class ReadyPart(BaseModel):
    name: str
    ok: bool
    required: bool
    detail: str = ""
    hint: str = ""


class Ready(BaseModel):
    ready: bool
    state: str  # ready, degraded; with status 503: starting, busy, not ready
    checks: list[ReadyPart]


class Answered(BaseModel):
    """An answer, described briefly: agents read the description of every tool."""

    model_config = ConfigDict(extra="allow")
    answer: str
    citations: list[dict[str, Any]]
    supported: bool
    no_good_match: bool


class CompletionPart(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    text: str = ""


class CompletionMessage(BaseModel):
    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[CompletionPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class CompletionBody(BaseModel):
    """A request of OpenAI's chat completions; other fields are ignored. The last message is the question."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "how do I rotate keys?"}]}]},
    )
    messages: Annotated[list[CompletionMessage], Field(min_length=1)]
    stream: bool | None = False


class Completion(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, int]
    citations: list[dict[str, Any]]
    supported: bool
    no_good_match: bool


class Problem(BaseModel):
    """A problem as RFC 9457 describes it, with a hint on what to do."""

    model_config = ConfigDict(extra="allow")
    type: str  # about:blank
    title: str  # what the status means
    status: int
    detail: str  # what happened
    hint: str = ""  # what to do
    error: str = Field("", description="the exception in Python, such as NotFound")


class Passed(BaseModel):
    path: str
    reason: str


class Cost(BaseModel):
    providers: list[str]
    models: list[str]
    texts: int = Field(description="texts to embed that are not in the cache, at most")
    tokens: int = Field(description="estimated")
    price: float | None = Field(description="in US dollars; null: price_per_million_tokens is not set")
    confirm_above: float
    must_confirm: bool


class Synced(BaseModel):
    model_config = ConfigDict(extra="allow")
    added: int
    changed: int
    moved: int
    removed: int
    unchanged: int
    skipped: list[Passed]  # files that were not read, and why
    warnings: list[Passed]  # what is wrong with files that were read
    documents: int  # of the index, now
    chunks: int
    embedded: int  # chunks that a model embedded
    took_ms: float
    cost: Cost | None = Field(None, description="of the vectors, if a model is on another machine")
    dry_run: bool = Field(False, description="nothing was written")
    planned: dict[str, list[str]] | None = Field(
        None, description="of a dry run: documents that would be added, changed, moved and removed, up to 1,000 of each"
    )


SyncBody = body(
    SyncParams,
    "SyncBody",
    examples=[{}, {"dry_run": True}, {"now": True, "wait": False}],
    wait=(bool, Field(True, description="answer when it is done; otherwise at once, with a job to ask after")),
)


class Job(BaseModel):
    job: str
    state: Literal["waiting", "running", "done", "failed"]
    doing: str = Field(description="the current step")
    done: int
    total: int = Field(description="0: not counted yet")
    unit: str
    report: Synced | None = Field(description="once it is done")
    problem: dict[str, str] | None = Field(description="why it failed: `detail` and `hint`")


class RemoveBody(Body):
    model_config = ConfigDict(
        strict=True, json_schema_extra={"examples": [{"ids": ["guides/old.md"], "dry_run": True}]}
    )
    ids: Annotated[list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(min_length=1, max_length=100)] = (
        Field(description="ids of documents, names of roots")
    )
    dry_run: bool = Field(False, description="only count the documents")


class Skipped(BaseModel):
    record: Any
    reason: str


class Registered(BaseModel):
    model_config = ConfigDict(extra="allow")
    registered: int
    unchanged: int
    duplicates: int  # records with the content or the path of another
    skipped: list[Skipped]  # records that were not read, and why


# ---------------------------------------------------------------- the registry

EXAMPLE = {
    "path": "/weather",
    "name": "weather",
    "description": "Forecasts for any place",
    "tags": ["weather"],
    "tools": [{"name": "forecast", "description": "The weather of the next days", "inputSchema": {"type": "object"}}],
}


class Entity(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: str
    name: str


class Entities(BaseModel):
    entities: list[Entity]
    total: int


class Servers(BaseModel):
    servers: list[Entity]
    total: int


class Agents(BaseModel):
    agents: list[Entity]
    total: int


class Skills(BaseModel):
    skills: list[Entity]
    total: int


class DocumentTag(BaseModel):
    tag: str
    documents: int = Field(description="how many documents have the tag or one below it")


class DocumentTags(BaseModel):
    tags: list[DocumentTag]


class Tag(BaseModel):
    tag: str
    count: int


class Tags(BaseModel):
    tags: list[Tag]


class Embeddings(BaseModel):
    collection: str
    dimension: int
    entity_types: dict[str, int]
    documents: int
    without_embedding: int
    indexes: list[str]


class Stats(BaseModel):
    model_config = ConfigDict(extra="allow")
    records: str = Field(description="where registered records are: local or mongodb")
    entity_types: dict[str, int]
    documents: int
    tools: int
    embeddings: Embeddings | None = Field(None, description="the collection that vectors are written to")


class Duplicate(BaseModel):
    path: str
    name: str
    entity_type: str
    description: str
    matches: list[str] = Field(description="what is the same: path, name, content; near: most words")
    score: float = Field(description="share of common words, from 0 to 1; rare words count more")


class CheckedRecord(BaseModel):
    record: str
    path: str
    name: str
    entity_type: str
    duplicates: list[Duplicate]


class Duplicates(BaseModel):
    checked: int
    duplicates: int = Field(description="how many of the records have any")
    records: list[CheckedRecord]
    skipped: list[Skipped]


class LackingEntity(BaseModel):
    path: str
    entity_type: str
    tiers: list[str] = Field(description="the vectors that are missing: static, dense")


class StaleEntity(BaseModel):
    path: str
    reason: str


class EmbeddingState(BaseModel):
    entities: int
    tiers: dict[str, dict[str, Any]]
    missing: list[LackingEntity]
    stale: list[StaleEntity]


class ReindexBody(Body):
    model_config = ConfigDict(strict=True, json_schema_extra={"examples": [{"paths": ["/weather"]}, {}]})
    paths: Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=1000)] = Field(
        [], description="paths of entities; none: all"
    )


class Reindexed(BaseModel):
    reindexed: int
    embedded: int
    cached: int
    took_ms: float


class ReviewedDescription(BaseModel):
    id: str = Field(description="the path of an entity, or SERVER#TOOL")
    hash: str = Field(description="of the present text: to accept it")
    reasons: list[str]
    text: str
    before: str | None = Field(description="the text before it changed")


class Review(BaseModel):
    descriptions: list[ReviewedDescription]


class AcceptBody(Body):
    model_config = ConfigDict(
        strict=True, json_schema_extra={"examples": [{"id": "/weather", "hash": "c8ffbd0657f8a9a5"}]}
    )
    id: Annotated[str, Field(min_length=1, max_length=1000)]
    hash: Annotated[str, Field(min_length=1, max_length=64)]


class Accepted(BaseModel):
    accepted: str


class Provenance(BaseModel):
    model_config = ConfigDict(extra="allow")
    path: str


class AuditEntry(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    at: str = Field(description="when it began, in UTC")
    action: str
    by: dict[str, str] = Field(description="via, user and the id of the token")
    targets: list[str] = Field(description="paths, ids or names, at most 100")
    count: int = Field(description="number of targets")
    state: str = Field(description="begun, done or failed")


class AuditLog(BaseModel):
    entries: list[AuditEntry]


class FederatedResult(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    document: str
    kind: str
    title: str
    path: str
    content: str = Field(description="the text of the passage")
    score: float
    similarity: float | None


class FederatedAnswer(BaseModel):
    query: str
    mode: str = Field(description="the mode that was used")
    results: list[FederatedResult]
    total: int = Field(description="number of these results")
    degraded: bool = Field(description="a signal could not run")
    failures: list[dict[str, Any]]
    confidence: float | None
    no_good_match: bool
    took_ms: float


class Capabilities(BaseModel):
    name: str
    version: str
    modes: list[str]
    default_mode: str
    recipes: list[str]
    recipe: str
    signals: dict[str, Any] = Field(description="share of the chunks that each signal covers")
    documents: int
    chunks: int
    kinds: dict[str, int]
    max_results: int
    max_query_length: int
    request: list[str] = Field(description="fields of a request")
    score: dict[str, Any]


class ChangeBody(Body):
    """A change of status or of enabled; at least one of them is required."""

    model_config = ConfigDict(
        strict=True, json_schema_extra={"examples": [{"status": "deprecated"}], "minProperties": 1}
    )
    status: Literal["active", "beta", "deprecated", "draft"] | None = None
    enabled: bool | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.status is None and self.enabled is None:
            raise ValueError("send status, enabled or both")
        return self


class Removed(BaseModel):
    removed: int  # how many
    dry_run: bool = Field(False, description="nothing was removed")
