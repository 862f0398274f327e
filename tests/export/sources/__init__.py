"""Tests of recipes, and of fetching what they name."""
