"""Installation into the settings of agent programs."""
