"""Paths of each client's MCP settings and skills."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.engine.settings.settings import config_folder, secret

SCOPES = ("project", "user")


@dataclass(frozen=True, slots=True)
class Client:
    """A client. `container` is the table of MCP servers in its settings; paths in the user's home begin with `~`."""

    name: str
    title: str
    container: str
    settings: dict[str, str]
    skills: dict[str, str]
    usual: str = "project"
    typed: bool = False  # whether an entry needs "type": "stdio"


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            "mcpServers",
            {"project": ".mcp.json", "user": "~/.claude.json"},
            {"project": ".claude/skills", "user": "~/.claude/skills"},
            typed=True,
        ),
        Client(
            "cursor",
            "Cursor",
            "mcpServers",
            {"project": ".cursor/mcp.json", "user": "~/.cursor/mcp.json"},
            {"project": ".cursor/skills", "user": "~/.cursor/skills"},
        ),
        Client(
            "vscode",
            "VS Code",
            "servers",
            {"project": ".vscode/mcp.json", "user": "{vscode}/mcp.json"},
            {"project": ".github/skills", "user": "~/.copilot/skills"},
            typed=True,
        ),
        Client(
            "codex",
            "Codex",
            "mcp_servers",
            {"project": ".codex/config.toml", "user": "{codex}/config.toml"},
            {"project": ".agents/skills", "user": "~/.agents/skills"},
            usual="user",
        ),
    )
}


def client(name: str) -> Client:
    if name not in CLIENTS:
        raise ConfigError(f"no client called {name!r}", nearest(name, CLIENTS))
    return CLIENTS[name]


def settings_file(of: Client, scope: str, project: str) -> str:
    return _place(of.settings[scope], project)


def skill_file(of: Client, scope: str, project: str, name: str) -> str:
    return os.path.join(_place(of.skills[scope], project), name, "SKILL.md")


def _place(path: str, project: str) -> str:
    if path.startswith("~"):
        return os.path.expanduser(path)
    if path.startswith("{vscode}"):
        return path.replace("{vscode}", _vscode())
    if path.startswith("{codex}"):
        return path.replace("{codex}", secret("CODEX_HOME") or os.path.expanduser("~/.codex"))
    return os.path.join(os.path.abspath(project), path)


def _vscode() -> str:
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/Code/User")
    if sys.platform == "win32":
        return os.path.join(secret("APPDATA") or os.path.expanduser("~/AppData/Roaming"), "Code", "User")
    return os.path.join(os.path.dirname(config_folder()), "Code", "User")
