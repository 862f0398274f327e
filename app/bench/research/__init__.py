"""Experiments that the product does not need."""
