"""Records as the documents of a gateway registry's collections, and back.

A document is the gateway's: its `_id` is the path, and its fields are those that a gateway writes. The field
`watersmeet` has the record as it was put; it holds as long as nobody else has changed the document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from watersmeet.core.entities import AGENT, SERVER, SKILL, VIRTUAL
from watersmeet.core.registry_records import RecordVersion, Stored

COLLECTIONS = {SERVER: "mcp_servers", AGENT: "mcp_agents", SKILL: "agent_skills", VIRTUAL: "virtual_servers"}
OWN = "watersmeet"
VERSION_FIELDS = {"updated_at": 1, "registered_at": 1}
CURRENT: dict[str, Any] = {"is_active": {"$ne": False}}
"""Condition on documents: gateways keep earlier versions of a server beside it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_FIELDS = frozenset((OWN, "_id", "path", "embedding"))


def time_of(version: int) -> str:
    """A version as the time that it stands for, as gateways write times."""
    return (_EPOCH + timedelta(microseconds=version)).replace(tzinfo=None).isoformat(timespec="microseconds")


def version_of(document: Mapping[str, Any]) -> int:
    """The version of a document: the time of its last change, in microseconds."""
    return _microseconds(document.get("updated_at")) or _microseconds(document.get("registered_at")) or 1


def listed(document: Mapping[str, Any]) -> RecordVersion:
    version = version_of(document)
    return RecordVersion(version, _microseconds(document.get("registered_at")) or version)


def _microseconds(value: Any) -> int:
    """A time as microseconds since 1970; of another value a number that is the same for the same value."""
    if isinstance(value, str) and value:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return int.from_bytes(blake2b(value.encode(errors="replace"), digest_size=7).digest()) or 1
    if not isinstance(value, datetime):
        return 0
    return (value.replace(tzinfo=value.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)


def read_back(document: Mapping[str, Any], kind: str) -> Stored:
    """The record of a document: as it was put or, if a gateway wrote it, with the gateway's fields."""
    version = version_of(document)
    record = _own_record(document, version)
    if record is None:
        fields = {key: value for key, value in document.items() if key not in _NOT_FIELDS}
        record = {**fields, "path": document["_id"], "entity_type": kind}
    return Stored(record, version, version / 1e6)


def _own_record(document: Mapping[str, Any], version: int) -> dict[str, Any] | None:
    """The record as it was put; None if the document was changed since, or by whom it was not put."""
    own = document.get(OWN)
    if not isinstance(own, Mapping) or own.get("version") != version:
        return None
    try:
        record = json.loads(own["record"])
    except (ValueError, TypeError, KeyError):
        return None
    return record if isinstance(record, dict) and record.get("path") == document["_id"] else None


def document_of(record: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The fields of a record's document, without `_id` and `registered_at`."""
    kind = record["kind"]
    groups, owner = record.get("groups", []), record.get("owner", "")
    visibility = record.get("visibility", "public")
    return {
        **{key: value for key, value in record.get("extra", {}).items() if _is_field(key)},
        "description": record.get("description", ""),
        "tags": record.get("tags", []),
        "status": record.get("status", "active"),
        "is_enabled": record.get("enabled", True),
        "visibility": "group-restricted" if visibility == "group" else visibility,
        "allowed_groups": groups,
        **({"owner": owner} if owner else {}),
        **({"examples": record["examples"]} if record.get("examples") else {}),
        **_OF_KIND[kind](record, record.get("metadata") or {}),
        "updated_at": time_of(version),
        OWN: {"version": version, "record": json.dumps(record, ensure_ascii=False)},
    }


def _is_field(key: str) -> bool:
    """Whether a key can be the name of a field: a dot would lead into another one."""
    return bool(key) and key not in _NOT_FIELDS and key[0] not in "$_" and "." not in key and "\0" not in key


def _server(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    tools = [{key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in record.get("tools", ())]
    return {"server_name": record["name"], "metadata": metadata, "tool_list": tools, "num_tools": len(tools)}


def _agent(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    capabilities = dict.fromkeys(record.get("capabilities", ()), True)
    return {
        "name": record["name"],
        "metadata": metadata,
        "capabilities": {key: on for key, on in capabilities.items() if _is_field(key)},
        "skills": record.get("skills", []),
    }


def _skill(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: metadata.get(key) for key in ("author", "version")}
    rest = {key: value for key, value in metadata.items() if key not in (*own, "registry_name")}
    return {
        "path": record["path"],
        "name": record["name"],
        "metadata": {**own, "extra": rest},
        **({"registry_name": metadata["registry_name"]} if metadata.get("registry_name") else {}),
        **({"skill_md_content": record["body"]} if record.get("body") else {}),
    }


def _virtual(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    tools = [
        {"tool_name": tool["name"], "description_override": tool.get("description") or None}
        for tool in record.get("tools", ())
    ]
    backends = metadata.get("backend_paths", [])
    return {
        "path": record["path"],
        "server_name": record["name"],
        "tool_mappings": record.get("extra", {}).get("tool_mappings", tools),
        **({"backend_paths": backends} if backends else {}),
        "required_scopes": metadata.get("required_scopes", []),
        "supported_transports": metadata.get("supported_transports", []),
        "created_by": metadata.get("created_by", ""),
    }


_OF_KIND = {SERVER: _server, AGENT: _agent, SKILL: _skill, VIRTUAL: _virtual}
