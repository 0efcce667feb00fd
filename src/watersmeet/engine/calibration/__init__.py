"""What has use taught? Weights of this index that follow evidence, starting from the recipe's."""
