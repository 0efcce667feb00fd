"""Sync: brings an index up to date with its sources, and makes vectors."""
