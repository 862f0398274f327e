"""Markdown parsed into blocks, and blocks written as HTML: one parser for the window, PDF, HTML and the terminal."""
