"""How the facts are called that an index keeps about itself."""

from __future__ import annotations

CURRENT, NEXT, AGAIN = "tiers", "next_tiers", "tiers_again"
"""The tiers that answer, those that are being made to replace them, and those that were there before an index was made
anew."""
KEPT = "registered"
"""What is registered, until it is put again."""
