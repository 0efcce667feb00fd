"""Fusions: each is `[Ranking] -> Ranking`."""
