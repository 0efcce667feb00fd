"""Signals: each is `Plan -> Ranking`."""
