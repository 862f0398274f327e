"""Text and tokens: tokenizer, chat template, thinking, calls of tools, grammars, and back to text."""
