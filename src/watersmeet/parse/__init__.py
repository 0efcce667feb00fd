"""What is written in them?"""
