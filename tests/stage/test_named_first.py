"""A rare word that names a server without tools limits what is about something else."""

from __future__ import annotations

import pytest

from small_index import indexed
from watersmeet.core.entities import SERVER, Entity, Tool
from watersmeet.core.model import ANY, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.stage.named_first import NamedFirst
from watersmeet.testing.contracts.corpus import registered

EXAMPLES = "Creates a flow.\n\nExample: orchestrate all my JIRA extractors."
SERVERS = [
    Entity(SERVER, "/atlassian", "Atlassian", "Tools for Confluence and Jira.", tags=("jira", "confluence")),
    Entity(SERVER, "/remote", "Hosted Atlassian", "Work with Jira issues."),
    Entity(SERVER, "/keboola", "Keboola", "Data flows", tools=(Tool("create_flow", EXAMPLES),)),
    Entity(SERVER, "/close", "Close", "Streamline sales.", tags=("sales",)),
    Entity(
        SERVER, "/mail", "Mail", "Letters", tools=(Tool("send", "Send a letter."), Tool("jira_letter", "Prints it."))
    ),
    Entity(SERVER, "/stripe", "Stripe", "Payments"),
    Entity(SERVER, "/stripe-remote", "Stripe", "Payments", tools=(Tool("create_invoice", "Creates an invoice."),)),
    *(Entity(SERVER, f"/common/{n}", f"Ledger {n}", "Books") for n in range(6)),
]


@pytest.fixture(scope="module")
def entities() -> Entities:
    return indexed([one for entity in SERVERS for one in registered(entity)]).entities(ANY)


def scores(entities: Entities, task: str, before: dict[str, float], **options: float) -> dict[str, float]:
    chunks = entities.first_chunks(list(before), ANY)
    ranking = Ranking.of("fused", [Hit(chunks[name], score) for name, score in before.items()])
    made = NamedFirst(entities, **options).apply(ranking, Plan(task))
    leads = entities.heads([hit.chunk for hit in made.hits])
    return {leads[hit.chunk].document: pytest.approx(hit.score) for hit in made.hits}


def test_a_tool_that_is_about_something_else_gets_half_of_the_named_server(entities: Entities) -> None:
    before = {"/keboola#create_flow": 1.0, "/atlassian": 0.8, "/remote": 0.7, "/mail#send": 0.5}
    made = scores(entities, "create a jira ticket", before)
    assert made == {"/atlassian": 2.0, "/remote": 1.9, "/keboola#create_flow": 1.0, "/mail#send": 0.5}
    assert list(made) == ["/atlassian", "/remote", "/keboola#create_flow", "/mail#send"]
    assert scores(entities, "create a jira ticket", before, share=0.8)["/atlassian"] == 1.25
    lowest = {**before, "/atlassian": 0.0}  # as the last of a scaled ranking
    assert scores(entities, "create a jira ticket", lowest)["/atlassian"] == 2.0


def test_the_name_or_the_path_of_a_server_is_a_name(entities: Entities) -> None:
    made = scores(entities, "update a page with atlassian", {"/keboola#create_flow": 1.0, "/atlassian": 0.8})
    assert made == {"/atlassian": 2.0, "/keboola#create_flow": 1.0}


@pytest.mark.parametrize(
    ("task", "before"),
    [
        ("create a ticket", {"/keboola#create_flow": 1.0, "/atlassian": 0.8}),  # no name
        ("show the sales", {"/mail#send": 1.0, "/close": 0.8}),  # a tag that is a plain word
        ("add it to the ledger", {"/mail#send": 1.0, "/common/1": 0.8}),  # not rare
        ("a stripe refund", {"/mail#send": 1.0, "/stripe": 0.8}),  # a server of this name lists tools
        ("create a jira ticket", {"/mail#jira_letter": 1.0, "/atlassian": 0.8, "/mail#send": 0.7}),  # names a tool too
        ("create a jira ticket", {"/keboola#create_flow": 1.0}),  # it was not found
        ("create a jira ticket", {"/atlassian": 1.0, "/keboola#create_flow": 0.4}),  # already low enough
        ("create a jira ticket", {}),
    ],
)
def test_otherwise_nothing_changes(entities: Entities, task: str, before: dict[str, float]) -> None:
    assert scores(entities, task, before) == before


def test_the_evidence_has_the_bonus(entities: Entities) -> None:
    chunks = entities.first_chunks(["/atlassian", "/keboola#create_flow"], ANY)
    ranking = Ranking("fused", (Hit(chunks["/keboola#create_flow"], 1.0), Hit(chunks["/atlassian"], 1.0)))
    made = NamedFirst(entities).apply(ranking, Plan("a jira ticket"))
    (evidence,) = made.hits[0].evidence
    assert (evidence.by, evidence.rank, evidence.score) == ("named_first", 1, 2.0)
    assert evidence.detail == {"bonus": 1.0}
