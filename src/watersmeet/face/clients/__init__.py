"""Programs that use agents, and how watersmeet is entered into their settings."""
