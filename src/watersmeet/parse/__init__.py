"""Parsers: files to documents."""
