"""Settings: sections, sources and trust."""
