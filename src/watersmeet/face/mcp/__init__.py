"""The MCP server: the engine for agents, over the Model Context Protocol."""
