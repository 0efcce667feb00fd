"""General queries: what people ask anywhere, on no subject in particular.

How near they come to an index, on average, is how near a query comes by chance. What is near in one collection is far
in another, so the confidence of an answer compares with this and not with a fixed cosine (docs/decisions/0031).
"""

from __future__ import annotations

GENERAL_QUERIES: tuple[str, ...] = (
    "how long should I boil an egg",
    "who won the world cup in 1998",
    "convert 5 miles to kilometers",
    "what is the capital of Mongolia",
    "how do vaccines train the immune system",
    "causes of the first world war",
    "kill the process that listens on a port",
    "set up two-factor authentication",
    "docker container keeps restarting",
    "average rainfall in the Amazon basin",
    "book a table for four on Saturday evening",
    "translate this sentence into Japanese",
    "find cheap flights from Berlin to New York in May",
    "track my package",
    "generate an image of a castle at sunset",
    "create a calendar event for the dentist",
    "lyrics of a famous opera aria",
    "do I need a visa for Brazil",
    "melting point of tungsten",
    "heat transfer in turbulent pipe flow",
    "risk factors for stroke in young people",
    "economic impact of tourism on islands",
    "train a puppy not to bite",
    "history of the printing press",
    "teach fractions to third graders",
    "retirement savings at forty",
    "reset a forgotten password",
    "keyboard shortcut to rename a file",
    "roll back a failed deployment",
    "parse json from a web request",
    "monitor cpu usage of a server",
    "search text in many files at once",
    "schedule a job every night",
    "what is a mutex",
    "yoga for lower back pain",
    "when is the next solar eclipse",
    "biography of Marie Curie",
    "chess opening for beginners",
    "register a company in Estonia",
    "buy used furniture near me",
)
