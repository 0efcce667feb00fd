"""Answers to questions: a search, a context pack, a chat model, and the checker of its citations."""
