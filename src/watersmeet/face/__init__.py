"""Interfaces to the engine: command line, REST, MCP and the web page. They translate and decide nothing."""
