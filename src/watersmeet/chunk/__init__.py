"""What is one answerable piece?"""
