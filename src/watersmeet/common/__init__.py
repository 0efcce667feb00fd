"""Helpers shared by several components that core must not have: they use libraries or the network."""
