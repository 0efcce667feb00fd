"""Qdrant behind the store of an index: words as sparse vectors, and the vectors of each model."""
