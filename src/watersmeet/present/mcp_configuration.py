"""MCP configuration of a registered server: the `mcpServers` JSON for the settings of a client.

It is made from what the record says and from nothing else. Secrets are never copied: each is a placeholder to fill in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from watersmeet.core.entities import SERVER, VIRTUAL
from watersmeet.core.options import option
from watersmeet.present.backend_addresses import without_backends
from watersmeet.present.registry import json_value

MAX_ITEMS, MAX_CHARS = 50, 500
"""Most headers, variables and arguments that are read of a record, and the most characters of each."""
_REMOTE = {"streamable-http": "http", "http": "http", "streamable_http": "http", "sse": "sse"}
_ADDRESSES = ("mcp_endpoint", "sse_endpoint", "url", "endpoint", "server_url", "proxy_pass_url")
"""Keys of a gateway's record that hold an address, the most specific first."""
_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "docker": "docker", "nuget": "dnx"}
_SECRET_NAME = re.compile(
    r"auth|key|token|secret|cookie|pass|cred|session|jwt|dsn|private|(?:^|[_-])(?:pat|pwd)$", re.IGNORECASE
)
_SCHEME_ONLY = re.compile(r"(?:(?:Bearer|Basic|Token|ApiKey)\s+)?<[^<>]+>", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{(?:input:|env:)?([\w.-]+)[^{}]*\}|\{\{\s*([\w.-]+)\s*\}\}|(?<!\$)\{([\w.-]+)\}", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f]+", re.IGNORECASE)
_QUERY_PARTS = re.compile(r"([&;])")
_TURNS = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class ToFill:
    """A value that the record leaves to the user."""

    name: str = option("", "the placeholder in the configuration is <NAME>")
    where: str = option("", "address, header, environment or argument")
    meaning: str = ""
    required: bool = option(True, "otherwise the configuration leaves it out")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to connect to the server."""

    transport: str = option("", "streamable-http, sse or stdio")
    title: str = option("", "the address' host or the package")
    configuration: Mapping[str, Any] = option({}, "the JSON to paste into the settings of an MCP client")
    to_fill: tuple[ToFill, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerConfiguration:
    """The ways to connect to a registered server; none if its record names no address and no package."""

    path: str
    name: str
    ways: tuple[Way, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = json_value(self)
        return found


def configuration(record: Mapping[str, Any]) -> ServerConfiguration:
    """The configuration of a server, from its record as `core.entities.record` makes it."""
    path, name, kind = str(record.get("path", "")), str(record.get("name", "")), record.get("kind")
    if kind not in (SERVER, VIRTUAL):
        return ServerConfiguration(path, name, (), ("only MCP servers have an MCP configuration",))
    values = {**_mapping(record.get("metadata")), **_mapping(record.get("extra"))}
    key = re.sub(r"[^\w.-]+", "-", path.rstrip("/").rpartition("/")[2]).strip("-.")[:60] or "server"
    ways: list[_Draft] = []
    notes: list[str] = []
    for made in (*_remotes(values), *_packages(values), *_container(values), *_command(values)):
        if made.entry and made.entry not in [way.entry for way in ways]:
            ways.append(made)
        notes += [note for note in made.notes if note not in notes]
    if not ways:
        notes += _nothing(kind, values)
    return ServerConfiguration(
        path,
        name,
        tuple(
            Way(way.transport, way.title, {"mcpServers": {key: way.entry}}, tuple(way.to_fill.values())) for way in ways
        ),
        tuple(notes),
    )


def endpoint_url(record: Mapping[str, Any], addresses: bool) -> str | None:
    """The address at which a server is called, without secrets; none if its record names none. `addresses`: whether
    the reader may see those of backends."""
    known = configuration(record if addresses else without_backends(record))
    entries = (entry for way in known.ways for entry in way.configuration["mcpServers"].values())
    return next((str(entry["url"]) for entry in entries if "url" in entry), None)


def _nothing(kind: str, values: Mapping[str, Any]) -> list[str]:
    if kind == VIRTUAL:
        return ["a virtual server is reached through its gateway, and the record does not name the gateway's address"]
    location = values.get("location")
    more = f"; see {location}" if isinstance(location, str) and _ADDRESS.fullmatch(location) else ""
    return [f"the record names no address, package, image or command{more}"]


@dataclass(slots=True)
class _Draft:
    """A way while it is put together."""

    transport: str = "stdio"
    title: str = ""
    entry: dict[str, Any] = field(default_factory=dict)
    to_fill: dict[str, ToFill] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def placeholder(self, name: str, where: str, meaning: str = "") -> str:
        name = re.sub(r"[^\w.-]+", "_", name).strip("_")[:60] or "value"
        self.to_fill.setdefault(name, ToFill(name, where, meaning))
        return f"<{name}>"

    def filled(self, template: str, name: str, where: str, about: Mapping[str, Any]) -> str:
        """A text with a placeholder for each variable; the whole is one if it is or may be a secret."""
        variables = _mapping(about.get("variables"))
        before = dict(self.to_fill)

        def variable(found: re.Match[str]) -> str:
            named = next(filter(None, found.groups()))
            return self.placeholder(named, where, _text(_mapping(variables.get(named)), "description"))

        made = _VARIABLE.sub(variable, template)
        secret = about.get("isSecret", about.get("is_secret")) is True or _SECRET_NAME.search(name)
        if (secret and not _SCHEME_ONLY.fullmatch(made)) or _looks_secret(made):
            self.to_fill = before
            return self.placeholder(name, where, _text(about, "description"))
        return made

    def value(self, about: Mapping[str, Any], name: str, where: str) -> str:
        """The value of a header, a variable or an argument; empty if it is optional and has none."""
        given = _text(about, "value") or _text(about, "default")
        if given:
            return self.filled(given, name, where, about)
        meaning = _text(about, "description")
        if about.get("isRequired", about.get("is_required", about.get("required"))) is True:
            return self.placeholder(name, where, meaning)
        self.to_fill.setdefault(name, ToFill(name, where, meaning, False))
        return ""

    def address(self, url: str, variables: Mapping[str, Any]) -> str:
        """An address without user and fragment, with placeholders for what may be secret; empty if it is none."""
        template = _VARIABLE.sub(lambda found: f"<{next(filter(None, found.groups()))}>", url.strip()[:MAX_CHARS])
        if not _ADDRESS.fullmatch(template):
            return ""
        scheme, _, rest = template.partition("://")
        place, _, query = rest.partition("#")[0].partition("?")
        host, *parts = place.split("/")
        host = host.rpartition("@")[2]
        for named in re.findall(r"<([^<>]+)>", "/".join([host, *parts])):
            self.placeholder(named, "address", _text(_mapping(variables.get(named)), "description"))
        parts = [self.placeholder("secret", "address") if _looks_secret(part) else part for part in parts]
        query = "".join(self._query_part(part) for part in _QUERY_PARTS.split(query))
        return f"{scheme}://{'/'.join([host, *parts])}" + (f"?{query}" if query else "") if host else ""

    def _query_part(self, part: str) -> str:
        name, sign, value = part.partition("=")
        return f"{name}={self.filled(value, name, 'address', {})}" if name and sign else part

    def pairs(self, value: Any, where: str) -> dict[str, str]:
        """Headers or variables, of a list of objects or of a mapping."""
        found = {}
        for name, about in _named(value):
            text = self.value(about, name, where)
            if text:
                found[name] = text
        return found


# ---------------------------------------------------------------- the ways that records name


def _remotes(values: Mapping[str, Any]) -> Iterator[_Draft]:
    """Addresses: of the official registry, of container catalogues, of gateways."""
    for remote in (*_list(values.get("remotes")), values.get("remote")):
        if isinstance(remote, Mapping):
            yield _remote(_text(remote, "url"), _text(remote, "type", "transport_type", "transport"), remote)
    for key in _ADDRESSES:
        url = _text(values, key)
        if not url:
            continue
        transports = [one for one in _list(values.get("supported_transports")) if isinstance(one, str)]
        named = _text(values, "transport", "transport_type") or "".join(transports[:1])
        made = _remote(url, "sse" if key == "sse_endpoint" else named, values)
        if key == "proxy_pass_url" and made.entry:
            made.notes.append("the address is that behind the gateway; outside its network, use the gateway's address")
        yield made
        return


def _remote(url: str, transport: str, about: Mapping[str, Any]) -> _Draft:
    made = _Draft("sse" if _REMOTE.get(transport) == "sse" else "streamable-http")
    address = made.address(url, _mapping(about.get("variables"))) if url else ""
    if not address:
        return _Draft(notes=["an address of the record is not an http or https address"] if url else [])
    made.title = urlsplit(address).hostname or ""
    made.entry = {"type": "sse" if made.transport == "sse" else "http", "url": address}
    if headers := made.pairs(about.get("headers"), "header"):
        made.entry["headers"] = headers
    return made


def _packages(values: Mapping[str, Any]) -> Iterator[_Draft]:
    """Packages of the official registry."""
    for package in _list(values.get("packages")):
        if not isinstance(package, Mapping):
            continue
        registry = _text(package, "registryType", "registry_type", "registry_name").casefold()
        name = _text(package, "identifier", "name")
        runner = _RUNNERS.get(registry)
        if not name or name.startswith("-"):
            continue
        if runner is None:
            yield _Draft(notes=[f"a client cannot start a package of {registry or 'an unnamed registry'}: {name}"])
            continue
        made = _started(package, registry, runner, name)
        transport = _mapping(package.get("transport"))
        if _REMOTE.get(_text(transport, "type")):
            yield _listening(transport, made)
        else:
            yield made


def _started(package: Mapping[str, Any], registry: str, runner: str, name: str) -> _Draft:
    """A package that the client starts."""
    made = _Draft(title=f"{registry} package {name}")
    version = _text(package, "version")
    before = _arguments(made, package.get("runtimeArguments", package.get("runtime_arguments")))
    after = _arguments(made, package.get("packageArguments", package.get("package_arguments")))
    env = made.pairs(package.get("environmentVariables", package.get("environment_variables")), "environment")
    pinned = version and version != "latest"
    if runner == "docker":
        image = name if ":" in name.rpartition("/")[2] or not pinned else f"{name}:{version}"
        args = ["run", "-i", "--rm", *before, *(part for key in env for part in ("-e", key)), image, *after]
    elif runner == "npx":
        args = ["-y", *(part for part in before if part != "-y"), f"{name}@{version}" if pinned else name, *after]
    elif runner == "uvx":
        args = [*before, f"{name}@{version}" if pinned else name, *after]
    else:
        args = [*before, f"{name}@{version}" if pinned else name, "--yes", *(["--", *after] if after else [])]
    made.entry = {"command": runner, "args": args, **({"env": env} if env else {})}
    return made


def _listening(transport: Mapping[str, Any], started: _Draft) -> _Draft:
    """A package that the user starts, and that then has an address."""
    made = _remote(_text(transport, "url"), _text(transport, "type"), transport)
    if made.entry:
        command = " ".join([started.entry["command"], *started.entry["args"]])
        made.title = started.title
        made.notes.append(f"start it first: {command}")
    return made


def _container(values: Mapping[str, Any]) -> Iterator[_Draft]:
    """An image of a container catalogue."""
    image = _text(values, "image")
    if not image or image.startswith("-") or _text(values, "type") == "remote":
        return
    made = _Draft(title=f"image {image}")
    config, run = _mapping(values.get("config")), _mapping(values.get("run"))
    env: dict[str, str] = {}
    for part in (config, values):
        for secret in _list(part.get("secrets")):
            if isinstance(secret, Mapping) and (name := _text(secret, "env", "name")):
                env[name] = made.placeholder(name, "environment", _text(secret, "description"))
        env |= made.pairs(part.get("env"), "environment")
    env |= made.pairs(run.get("env"), "environment")
    command = _list(run.get("command")) or _list(values.get("command"))
    after = [made.filled(part[:MAX_CHARS], "value", "argument", {}) for part in command if isinstance(part, str)]
    args = ["run", "-i", "--rm", *(part for key in env for part in ("-e", key)), image, *after]
    made.entry = {"command": "docker", "args": args, **({"env": env} if env else {})}
    yield made


def _command(values: Mapping[str, Any]) -> Iterator[_Draft]:
    """A command that the record names as it is."""
    command = values.get("command")
    if not isinstance(command, str) or not command.strip() or values.get("image"):
        return
    made = _Draft(title=f"command {command.strip()[:60]}")
    args = _arguments(made, values.get("args", values.get("arguments")))
    env = made.pairs(values.get("env", values.get("environment")), "environment")
    made.entry = {"command": command.strip()[:MAX_CHARS], "args": args, **({"env": env} if env else {})}
    yield made


def _arguments(made: _Draft, value: Any) -> list[str]:
    """Arguments as texts, or as the official registry describes them. What follows a flag for a secret is one."""
    found: list[str] = []
    for item in _list(value):
        if isinstance(item, str):
            flag, sign, rest = item[:MAX_CHARS].partition("=")
            before = found[-1] if found and found[-1].startswith("-") and "=" not in found[-1] else ""
            if sign and flag.startswith("-"):
                found.append(f"{flag}={made.filled(rest, flag.lstrip('-'), 'argument', {})}")
            elif item.startswith("-"):
                found.append(flag)
            else:
                found.append(made.filled(item[:MAX_CHARS], before.lstrip("-") or "argument", "argument", {}))
        elif isinstance(item, Mapping):
            found += _argument(made, item)
    return found


def _argument(made: _Draft, about: Mapping[str, Any]) -> list[str]:
    flag = _text(about, "name") if _text(about, "type") == "named" else ""
    hint = _text(about, "valueHint", "value_hint") or flag.lstrip("-") or _text(about, "name") or "argument"
    has_value = any(_text(about, key) for key in ("value", "default", "valueHint", "value_hint", "format"))
    if flag and not has_value:
        return [flag] if about.get("isRequired", about.get("is_required")) is not False else []
    value = made.value(about, hint, "argument")
    return [part for part in (flag, value) if part] if value else []


# ---------------------------------------------------------------- values of a record


def _looks_secret(text: str) -> bool:
    """Whether a part of it is a long mix of letters and digits, as generated keys are."""
    return any(len(run) >= 16 and len(_TURNS.findall(run)) >= 3 for run in re.findall(r"[A-Za-z0-9]+", text))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value[:MAX_ITEMS] if isinstance(value, list | tuple) else ()


def _named(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Pairs of a name and what is known of it; invalid names are left out."""
    if isinstance(value, Mapping):
        pairs = [(name, item if isinstance(item, Mapping) else {"value": item}) for name, item in value.items()]
    else:
        pairs = [(_text(item, "name"), item) for item in _list(value) if isinstance(item, Mapping)]
    for name, about in pairs[:MAX_ITEMS]:
        if re.fullmatch(r"[\w.-]{1,100}", name, re.ASCII):
            yield name, about


def _text(record: Mapping[str, Any], *keys: str) -> str:
    """The first text or number under one of these keys, on one line; empty if there is none."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int | float) and str(value).strip():
            return " ".join(str(value).split())[:MAX_CHARS]
    return ""
