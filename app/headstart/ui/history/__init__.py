"""The history: encryption, recovery and maintenance."""
