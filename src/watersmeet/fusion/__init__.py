"""What do the signals agree on? `[Ranking] -> Ranking`."""
