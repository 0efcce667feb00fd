"""The index: location, settings it was built with, tiers, status and health."""
