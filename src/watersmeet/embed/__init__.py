"""Embedders, sparse encoders and cross-encoders."""
