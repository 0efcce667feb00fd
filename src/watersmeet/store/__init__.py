"""Index storage: one folder for each kind of place."""
