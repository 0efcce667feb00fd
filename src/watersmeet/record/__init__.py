"""What does a registry record say?"""
