"""The engine: builds pipelines from settings, syncs and searches; owns threads, the writer lock and commits."""
