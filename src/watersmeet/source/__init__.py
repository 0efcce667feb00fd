"""Where do documents come from?"""
