"""MongoDB as the place of registered records, and of the vectors of their entities."""
