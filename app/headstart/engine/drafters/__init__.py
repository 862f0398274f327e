"""The drafters: a draft model, heads, n-grams of the text, and n-gram tables."""
