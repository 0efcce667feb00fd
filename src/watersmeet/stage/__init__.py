"""Boost, share, scale, cut: each stage is `Ranking -> Ranking`."""
