"""Conversations and their history on disk. Knows neither Qt nor any engine."""
