"""Markdown as blocks, and blocks as documents on screen."""
