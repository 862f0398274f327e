"""How far to guess, learned from what guesses cost and how many held."""
