"""Readers of registry records, one for each format."""
