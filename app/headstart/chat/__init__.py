"""Conversations and their history on disk."""
