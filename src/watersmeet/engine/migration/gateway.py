"""The environment file of mcp-gateway-registry (`.env`): what concerns its search, its database and its embeddings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from watersmeet.common.redaction import HIDDEN
from watersmeet.engine.migration.conversion import BUILT_IN, Conversion, Rule, lacking, same, set_embedder, to, walk

PROGRAM, RECIPE = "registry", "registry"
KNOWN = ("STORAGE_BACKEND", "SEARCH_FUSION_METHOD", "VECTOR_SEARCH_EF_SEARCH")
BEGINNINGS = ("DOCUMENTDB_", "MONGODB_", "EMBEDDINGS_")
DATABASES = ("documentdb", "mongodb-ce", "mongodb", "mongodb-atlas")
USUAL_MODELS = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
STRING = "MONGODB_CONNECTION_STRING"
OF_GATEWAY = "of the gateway, its sign-in or its console: not part of search"
IN_STRING = "part of the connection string"


def read_env(text: str) -> dict[str, str]:
    """The variables of a file of `NAME=value` lines, as a shell or Docker reads them."""
    return dict(_variables(text))


def _variables(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        name = name.strip()
        if not sign or name.startswith("#") or not name.replace("_", "a").isalnum():
            continue
        value = value.strip()
        if value[:1] in ("'", '"') and value.find(value[0], 1) > 0:
            value = value[1 : value.find(value[0], 1)]
        else:
            value = "" if value.startswith("#") else value.split(" #")[0].split("\t#")[0].strip()
        yield name, value


def is_env(variables: Mapping[str, str]) -> bool:
    return any(name in KNOWN or name.startswith(BEGINNINGS) for name in variables)


def _fusion(made: Conversion, name: str, value: Any) -> None:
    if value.lower() in ("rrf", "legacy"):
        made.set(name, value, "pipeline.fusion", value.lower(), "the variable itself is honoured too")
    else:
        made.none(name, value, "rrf or legacy")


def _backend(made: Conversion, name: str, value: Any) -> None:
    if value in DATABASES:
        made.set(name, value, "registry.records", "mongodb")
    elif value == "file":
        made.same(name, value, "the index has the records; `watersmeet register FOLDER` reads the gateway's JSON files")
        made.commands.append("watersmeet register FOLDER_OF_THE_JSON_FILES")
    else:
        made.none(name, value, "records are in the index, or in MongoDB or DocumentDB")


def _number(setting: str) -> Rule:
    def rule(made: Conversion, name: str, value: Any) -> None:
        if value.isdecimal():
            made.set(name, value, setting, int(value), "the variable itself is honoured too")
        else:
            made.none(name, value, "a whole number")

    return rule


def _iam(made: Conversion, name: str, value: Any) -> None:
    if value.lower() == "true":
        made.none(name, value, "sign-in with IAM: write authMechanism=MONGODB-AWS into the connection string")
    else:
        made.same(name, value, "off")


def _skip(made: Conversion, name: str, value: Any) -> None:
    """Part of a group that is converted as a whole."""


RULES: dict[str, Rule] = {
    "SEARCH_FUSION_METHOD": _fusion,
    "VECTOR_SEARCH_EF_SEARCH": _number("records.mongodb.ef_search"),
    "STORAGE_BACKEND": _backend,
    "DOCUMENTDB_DATABASE": to("records.mongodb.database"),
    "DOCUMENTDB_NAMESPACE": to("records.mongodb.namespace"),
    "DOCUMENTDB_USE_IAM": _iam,
    STRING: lambda made, name, value: made.set(name, value, "records.mongodb.uri_env", STRING, "kept in its variable"),
    **{
        f"DOCUMENTDB_{name}": same(IN_STRING)
        for name in (
            "HOST",
            "PORT",
            "USERNAME",
            "PASSWORD",
            "USE_TLS",
            "TLS_CA_FILE",
            "REPLICA_SET",
            "READ_PREFERENCE",
            "DIRECT_CONNECTION",
        )
    },
    "EMBEDDINGS_PROVIDER": _skip,
    "EMBEDDINGS_MODEL_NAME": _skip,
    "EMBEDDINGS_API_BASE": _skip,
    "EMBEDDINGS_AWS_REGION": _skip,
    "EMBEDDINGS_MODEL_DIMENSIONS": same("a model says itself how long its vectors are"),
    "EMBEDDINGS_API_KEY": same("keys stay in their variables (embed.openai.api_key_env)"),
    "EMBEDDINGS_SECRET_KEY": lacking("LiteLLM's; the variables of AWS are used as they are"),
}


def convert(variables: Mapping[str, str]) -> Conversion:
    made = Conversion(PROGRAM, RECIPE)
    walk(made, {name: value for name, value in variables.items() if name in RULES}, RULES)
    _embeddings(made, variables)
    for name, value in variables.items():
        if name not in RULES and value:
            made.none(name, HIDDEN, OF_GATEWAY)  # any of them may be a secret
    if made.tables.get("registry", {}).get("records") == "mongodb":
        if not variables.get(STRING):
            made.commands.append(f"export MONGODB_URI={shlex.quote(connection_string(variables))}")
        made.commands.append("watersmeet pull")
    return made


def _embeddings(made: Conversion, variables: Mapping[str, str]) -> None:
    model = variables.get("EMBEDDINGS_MODEL_NAME", "")
    provider = variables.get("EMBEDDINGS_PROVIDER", "").lower() or "sentence-transformers"
    if not model:
        return
    if model in USUAL_MODELS:
        made.same("EMBEDDINGS_MODEL_NAME", model, f"the registry's own choice is not carried over: {BUILT_IN}")
        return
    options: dict[str, Any] = {"base_url": variables.get("EMBEDDINGS_API_BASE", "")}
    if provider == "litellm":  # its models are PROVIDER/MODEL
        provider, _, model = model.partition("/") if "/" in model else ("openai", "", model)
        if provider == "bedrock":
            options = {"region": variables.get("EMBEDDINGS_AWS_REGION", "")}
        elif variables.get("EMBEDDINGS_API_KEY"):
            options["api_key_env"] = "EMBEDDINGS_API_KEY"
    set_embedder(made, "EMBEDDINGS_MODEL_NAME", provider, model, **options)


def connection_string(variables: Mapping[str, str]) -> str:
    """A connection string of the separate variables, with places for the name and the password."""
    host = variables.get("DOCUMENTDB_HOST") or "localhost"
    port = variables.get("DOCUMENTDB_PORT") or "27017"
    who = "USERNAME:PASSWORD@" if variables.get("DOCUMENTDB_USERNAME") else ""
    options = {}
    if variables.get("DOCUMENTDB_USE_TLS", "").lower() == "true":
        options["tls"] = "true"
        if variables.get("DOCUMENTDB_TLS_CA_FILE"):
            options["tlsCAFile"] = variables["DOCUMENTDB_TLS_CA_FILE"]
    if variables.get("DOCUMENTDB_REPLICA_SET"):
        options["replicaSet"] = variables["DOCUMENTDB_REPLICA_SET"]
    if variables.get("DOCUMENTDB_READ_PREFERENCE"):
        options["readPreference"] = variables["DOCUMENTDB_READ_PREFERENCE"]
    if variables.get("DOCUMENTDB_DIRECT_CONNECTION", "").lower() == "true":
        options["directConnection"] = "true"
    if variables.get("STORAGE_BACKEND") == "documentdb":
        options["retryWrites"] = "false"
    query = f"?{urlencode(options, safe='/')}" if options else ""
    return f"mongodb://{who}{host}:{port}/{query}"
