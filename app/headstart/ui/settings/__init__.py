"""The preferences, and the editors of settings."""
