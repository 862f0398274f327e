"""Recipes, and the weights that they name."""
