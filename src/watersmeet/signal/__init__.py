"""Who thinks what is near? Each signal is `Plan -> Ranking`."""
