"""Presentation of results: `Ranking -> Answer`, JSON, Markdown, context packs."""
