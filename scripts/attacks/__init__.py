"""What an attacker would try, one file an area; `scripts/attack.py` runs them."""
