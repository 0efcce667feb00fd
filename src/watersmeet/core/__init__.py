"""Data classes, protocols and the tokenizer. Standard library only; imports no other folder."""
