"""Markdown parsed into blocks, and blocks written into documents."""
