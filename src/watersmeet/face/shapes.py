"""The shapes of requests and answers, as OpenAPI tells them. Names that are not here are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from watersmeet.core.viewers import Viewer
from watersmeet.engine.asked import written
from watersmeet.engine.modes import MODES
from watersmeet.engine.settings import recipes
from watersmeet.face.asking import Asking
from watersmeet.face.service import MOST_QUERY

if TYPE_CHECKING:
    from watersmeet.engine.registry.asking import SearchRequest

Kind = Literal["mcp_server", "a2a_agent", "skill", "virtual_server", "tool"]
Query = Annotated[str, Field(min_length=1, max_length=MOST_QUERY)]
Name = Annotated[str, Field(max_length=200)]
Mode = Annotated[str, Field(max_length=200, json_schema_extra={"enum": ["", *MODES]})]
Recipe = Annotated[str, Field(max_length=200, json_schema_extra={"enum": ["", *recipes()]})]
Value = Annotated[str, Field(min_length=1, max_length=200)] | bool | int | float
Filters = Annotated[dict[Name, Value | Annotated[list[Value], Field(max_length=20)]], Field(max_length=20)]

Sure = Field(None, ge=0, le=1, description="how likely one of the first three results answers the query")
NoMatch = Field(False, description="nothing fits: what is listed is merely the nearest")
TopN = AliasChoices("top_n", "max_results", "limit", "top_k", "topK")  # by whichever name people know
MaxResults = AliasChoices("max_results", "top_n", "limit", "top_k", "topK")


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchBody(Body):
    """A search, by the names of the command line."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [
                {"query": "how do I rotate keys?"},
                {"query": "TRN-1042", "filters": {"tag": ["security"]}, "since": "1y", "top_n": 5, "budget": 1000},
            ]
        },
    )
    query: Query = Field(description="What is looked for. Every character of it is text: there is no query language.")
    mode: Mode = Field("", description="how it is looked for; else the best there is")
    recipe: Recipe = Field("", description="which recipe answers; else as the settings say")
    top_n: int | None = Field(None, ge=1, le=1000, validation_alias=TopN, description="how many; 10, or what fits")
    filters: Filters = Field(
        {}, description="AND between keys, OR within one: kind, tag (or below it), path (a glob), collection, any field"
    )
    since: Name = Field("", description="changed since: 2026-01-31, or 7d, 2w, 3m, 1y ago")
    before: Name = Field("", description="changed before")
    intent: Annotated[str, Field(max_length=2000)] = Field("", description="what the answer is for")
    explain: bool = Field(False, description="say how each result came to its place")
    why_not: Name = Field("", description="say where this document fell out, and why")
    budget: int | None = Field(None, ge=1, le=1_000_000, description="a context pack of at most so many tokens")
    strict: bool = Field(False, description="fail if any signal of the recipe could not vote")

    def asking(self) -> Asking:
        values = {name: getattr(self, name) for name in SearchBody.model_fields}
        filters = {
            key: [written(one) for one in (value if isinstance(value, list) else [value])]
            for key, value in self.filters.items()
        }
        return Asking(**{**values, "filters": filters})


class Evidence(BaseModel):
    model_config = ConfigDict(extra="allow")
    by: str
    rank: int
    score: float


class Result(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    document: str
    kind: str
    title: str
    headings: list[str]
    path: str
    lines: list[int] = Field(description="first and last, from 1")
    text: str
    score: float = Field(description="0 to 1, the best is 1")
    fusion_score: float
    similarity: float | None
    evidence: list[Evidence]


class Failure(BaseModel):
    by: str
    reason: str
    hint: str


class Citation(BaseModel):
    id: str
    document: str
    title: str
    headings: list[str]
    path: str
    lines: list[int]
    tokens: int
    cut: bool


class Pack(BaseModel):
    text: str
    tokens: int
    budget: int
    citations: list[Citation]


class SearchAnswer(BaseModel):
    """The same from the command line, Python, MCP and here."""

    model_config = ConfigDict(extra="allow")
    query: str
    mode: str = Field(description="what really ran")
    recipe: str
    results: list[Result]
    failures: list[Failure]
    took_ms: float
    silent: dict[str, str]
    confidence: float | None = Sure
    no_good_match: bool = NoMatch
    notes: list[str] = Field([], description="what the asker should know")
    pack: Pack | None = None


class Document(BaseModel):
    model_config = ConfigDict(extra="allow")
    document: str
    kind: str
    title: str
    path: str
    text: str
    fields: dict[str, Any]
    links: list[dict[str, Any]]
    chunks: list[dict[str, Any]]


class Listed(BaseModel):
    document: str
    kind: str
    title: str
    modified: str | None
    chunks: int


class Documents(BaseModel):
    documents: list[Listed]
    total: int


class Status(BaseModel):
    model_config = ConfigDict(extra="allow")
    documents: int
    chunks: int
    kinds: dict[str, int]
    signals: dict[str, dict[str, Any]]


class Classified(BaseModel):
    query: str
    kind: str
    length: str
    anchors: list[str]
    weights: dict[str, float]
    suggested_mode: str
    suggested_top_n: int
    why: str


class Health(BaseModel):
    status: str


class Problem(BaseModel):
    """RFC 9457, with what to do about it."""

    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    detail: str
    hint: str = ""


class FoundTool(BaseModel):
    model_config = ConfigDict(extra="allow")
    tool_name: str
    server_path: str
    server_name: str
    description: str
    inputSchema: dict[str, Any]
    score: float


class Tools(BaseModel):
    model_config = ConfigDict(extra="allow")
    task: str
    tools: list[FoundTool]
    confidence: float | None = Sure
    no_good_match: bool = NoMatch
    failures: list[Failure]
    took_ms: float


class Passed(BaseModel):
    path: str
    reason: str


class Synced(BaseModel):
    model_config = ConfigDict(extra="allow")
    added: int
    changed: int
    moved: int
    removed: int
    unchanged: int
    skipped: list[Passed]
    warnings: list[Passed]
    documents: int
    chunks: int
    embedded: int
    took_ms: float


class Skipped(BaseModel):
    record: Any
    reason: str


class Registered(BaseModel):
    model_config = ConfigDict(extra="allow")
    registered: int
    unchanged: int
    duplicates: int
    skipped: list[Skipped]


# ---------------------------------------------------------------- the registry

EXAMPLE = {
    "path": "/weather",
    "name": "weather",
    "description": "Forecasts for any place",
    "tags": ["weather"],
    "tools": [{"name": "forecast", "description": "The weather of the next days", "inputSchema": {"type": "object"}}],
}


class SemanticBody(Body):
    """A search of the registry."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [{"query": "weather forecast", "entity_types": ["mcp_server", "tool"], "max_results": 10}]
        },
    )
    query: Annotated[str, Field(max_length=MOST_QUERY)] = Field("", description="what is looked for; #tag is a filter")
    entity_types: Annotated[list[Kind], Field(max_length=10)] | None = Field(None, description="all, if none is named")
    max_results: int = Field(10, ge=1, le=50, validation_alias=MaxResults)
    include_deprecated: bool = False
    include_draft: bool = False
    include_disabled: bool = False
    tags: Annotated[list[Name], Field(max_length=50)] = Field([], description="all of them must hold")
    mode: Mode = ""
    recipe: Recipe = ""
    intent: Annotated[str, Field(max_length=2000)] = ""

    def asked(self, viewer: Viewer) -> SearchRequest:
        from watersmeet.engine.registry.asking import SearchRequest

        values = {name: getattr(self, name) for name in type(self).model_fields}
        types = None if self.entity_types is None else tuple(self.entity_types)
        return SearchRequest(**{**values, "entity_types": types, "tags": tuple(self.tags), "viewer": viewer})


class Ranked(BaseModel):
    model_config = ConfigDict(extra="allow")
    entity_type: str
    description: str
    relevance_score: float
    similarity_score: float | None


class MatchingTool(BaseModel):
    model_config = ConfigDict(extra="allow")
    tool_name: str
    description: str


class RankedServer(Ranked):
    path: str
    server_name: str
    tags: list[str]
    matching_tools: list[MatchingTool]


class RankedTool(Ranked):
    server_path: str
    server_name: str
    tool_name: str
    inputSchema: dict[str, Any]


class RankedVirtual(RankedServer):
    backend_paths: list[str]
    tool_count: int


class RankedEntity(Ranked):
    path: str
    tags: list[str]


class GroupedAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    query: str
    search_mode: str = Field(description="hybrid or lexical-only: what really ran")
    servers: list[RankedServer]
    tools: list[RankedTool]
    agents: list[RankedEntity]
    skills: list[RankedEntity]
    virtual_servers: list[RankedVirtual]
    total_servers: int
    total_tools: int
    total_agents: int
    total_skills: int
    total_virtual_servers: int
    confidence: float | None = Sure
    no_good_match: bool = NoMatch
    failures: list[Failure]
    took_ms: float


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


class Tag(BaseModel):
    tag: str
    count: int


class Tags(BaseModel):
    tags: list[Tag]


class ChangeBody(Body):
    """At least one of them."""

    model_config = ConfigDict(
        strict=True, json_schema_extra={"examples": [{"status": "deprecated"}], "minProperties": 1}
    )
    status: Literal["active", "beta", "deprecated", "draft"] | None = None
    enabled: bool | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.status is None and self.enabled is None:
            raise ValueError("name a status, or enabled")
        return self


class Removed(BaseModel):
    removed: int
