"""Calibration: fusion weights of an index, learned from evidence, starting from the recipe's."""
