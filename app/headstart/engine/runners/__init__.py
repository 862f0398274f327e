"""Runners of models, and their self-tests."""
