"""Evaluation: metrics of search quality, and significance tests."""
