"""The drafters: a draft model, n-grams of the text, a table of usual words."""
