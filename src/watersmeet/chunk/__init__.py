"""Chunkers: split a document into chunks."""
