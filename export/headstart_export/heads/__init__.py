"""Heads that guess for a model, and how they learn."""
