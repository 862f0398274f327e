"""The proofs of a finished model: its tokenizer and its quality."""
