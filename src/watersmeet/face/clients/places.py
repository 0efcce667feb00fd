"""Paths of each client's MCP settings and skills.

Where each program keeps them, by its own documentation, is in docs/decisions/0044-agents.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.engine.settings.settings import config_folder, secret

SCOPES = ("project", "user")


@dataclass(frozen=True, slots=True)
class Client:
    """A client. `container` is the table of MCP servers in its settings. Paths begin with `~` in the user's home, with
    `{config}` in the folder where programs of this system keep their settings; of several files, the first that exists
    is used, else the first. `skills` is empty if it reads none."""

    name: str
    title: str
    container: str
    settings: dict[str, tuple[str, ...]]
    skills: dict[str, str] = field(default_factory=dict)
    usual: str = "project"
    typed: bool = False  # whether an entry needs "type": "stdio"
    comments: bool = False  # whether its JSON may have comments and trailing commas
    one_command: bool = False  # whether program and arguments are one list

    def entry(self, program: str, arguments: Sequence[str]) -> dict[str, Any]:
        """The entry that starts a server."""
        if self.one_command:
            return {"type": "local", "command": [program, *arguments], "enabled": True}
        return {**({"type": "stdio"} if self.typed else {}), "command": program, "args": list(arguments)}


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            "mcpServers",
            {"project": (".mcp.json",), "user": ("~/.claude.json",)},
            {"project": ".claude/skills", "user": "~/.claude/skills"},
            typed=True,
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            {"user": ("{config}/Claude/claude_desktop_config.json",)},
            usual="user",
        ),
        Client(
            "cursor",
            "Cursor",
            "mcpServers",
            {"project": (".cursor/mcp.json",), "user": ("~/.cursor/mcp.json",)},
            {"project": ".cursor/skills", "user": "~/.cursor/skills"},
        ),
        Client(
            "vscode",
            "VS Code",
            "servers",
            {"project": (".vscode/mcp.json",), "user": ("{config}/Code/User/mcp.json",)},
            {"project": ".github/skills", "user": "~/.copilot/skills"},
            typed=True,
            comments=True,
        ),
        Client(
            "codex",
            "Codex",
            "mcp_servers",
            {"project": (".codex/config.toml",), "user": ("{codex}/config.toml",)},
            {"project": ".agents/skills", "user": "~/.agents/skills"},
            usual="user",
        ),
        Client(
            "windsurf",
            "Windsurf",
            "mcpServers",
            {"user": ("~/.codeium/windsurf/mcp_config.json",)},
            {"user": "~/.codeium/windsurf/skills"},
            usual="user",
        ),
        Client(
            "zed",
            "Zed",
            "context_servers",
            {"project": (".zed/settings.json",), "user": ("{zed}/settings.json",)},
            {"project": ".agents/skills", "user": "~/.agents/skills"},
            usual="user",
            comments=True,
        ),
        Client(
            "gemini",
            "Gemini CLI",
            "mcpServers",
            {"project": (".gemini/settings.json",), "user": ("~/.gemini/settings.json",)},
            {"project": ".gemini/skills", "user": "~/.gemini/skills"},
            comments=True,
        ),
        Client(
            "cline",
            "Cline",
            "mcpServers",
            {
                "user": (
                    "~/.cline/data/settings/cline_mcp_settings.json",
                    "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                )
            },
            {"user": "~/.cline/skills"},
            usual="user",
        ),
        Client(
            "opencode",
            "OpenCode",
            "mcp",
            {
                "project": ("opencode.json", "opencode.jsonc"),
                "user": ("{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"),
            },
            {"project": ".opencode/skills", "user": "{xdg}/opencode/skills"},
            comments=True,
            one_command=True,
        ),
    )
}


def client(name: str) -> Client:
    if name not in CLIENTS:
        raise ConfigError(f"no client called {name!r}", nearest(name, CLIENTS))
    return CLIENTS[name]


def settings_file(of: Client, scope: str, project: str) -> str:
    if scope not in of.settings:
        raise ConfigError(f"{of.title} has no settings of a {scope}", f"leave out --scope, or use --scope {of.usual}")
    places = [_place(path, project) for path in of.settings[scope]]
    return next((place for place in places if os.path.exists(place)), places[0])


def skill_file(of: Client, scope: str, project: str, name: str) -> str:
    return os.path.join(_place(of.skills[scope], project), name, "SKILL.md")


def _place(path: str, project: str) -> str:
    if path.startswith("~"):
        return os.path.expanduser(path)
    if path.startswith("{"):
        name, _, rest = path[1:].partition("}")
        return _FOLDERS[name]() + rest
    return os.path.join(os.path.abspath(project), path)


def _config() -> str:
    """Where programs with windows keep their settings."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support")
    return _roaming() if sys.platform == "win32" else _xdg()


def _roaming() -> str:
    return secret("APPDATA") or os.path.expanduser("~/AppData/Roaming")


def _xdg() -> str:
    """Where programs of a terminal keep their settings, on every system."""
    return os.path.dirname(config_folder())


def _zed() -> str:
    return os.path.join(_roaming(), "Zed") if sys.platform == "win32" else os.path.join(_xdg(), "zed")


def _codex() -> str:
    return secret("CODEX_HOME") or os.path.expanduser("~/.codex")


_FOLDERS = {"config": _config, "xdg": _xdg, "zed": _zed, "codex": _codex}
"""Folders by the name that stands for them in a path."""
