"""The engine for agents, over the Model Context Protocol."""
