"""Turns the application into packages. `build.py` is the one door; nothing of this is in what it packs."""
