"""The nouns, the verbs and the one tokenizer. Standard library only; knows nothing of the other folders."""
