"""Whole stories in a real window, driven from outside as a person drives it."""
