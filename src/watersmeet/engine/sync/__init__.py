"""How do documents come into an index, and keep up with their sources?"""
