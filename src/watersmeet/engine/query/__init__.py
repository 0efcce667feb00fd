"""The search path: one runner for documents and registry entities."""
