"""Tuning of the encoder for one index: pairs, training, and the graph that is written."""
