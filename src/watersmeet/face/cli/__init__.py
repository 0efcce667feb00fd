"""The command line. What a command imports stays, so the collector need not look at it again and again."""

import gc

GC_THRESHOLD = 100_000
"""Garbage collection threshold: a command is short, and a server's query makes and drops thousands of small objects."""

gc.set_threshold(GC_THRESHOLD)
