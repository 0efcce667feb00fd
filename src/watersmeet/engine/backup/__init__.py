"""Backups: one file that holds an index, made while others write."""
