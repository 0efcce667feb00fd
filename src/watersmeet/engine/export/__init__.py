"""Exports: a folder that serves an index alone, made here and opened as a stranger's."""
