"""Chat models: one file for each provider."""
