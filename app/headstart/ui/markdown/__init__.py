"""Blocks of Markdown written into documents of Qt."""
