"""Command line, and later MCP, REST and the web page: translate, never decide."""
