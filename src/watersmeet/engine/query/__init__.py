"""How is a search run? One runner for documents and entities."""
