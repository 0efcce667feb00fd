"""Which settings are there, and where do they come from?"""
