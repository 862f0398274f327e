"""Who guesses the next tokens: a draft model, the text itself, a table."""
