"""The HTTP server: REST, the web page, and MCP beside them."""
