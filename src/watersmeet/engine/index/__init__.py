"""What is an index built with, where is it, what does it hold, and is it sound?"""
