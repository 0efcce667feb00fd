"""Stages after fusion, such as boosts and cuts: each is `Ranking -> Ranking`."""
