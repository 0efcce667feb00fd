"""What does it mean, as numbers?"""
