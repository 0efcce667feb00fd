"""How good is it, and is the change real?"""
