"""The engine over HTTP: REST, the page, and MCP beside them."""
