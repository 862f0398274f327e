"""Tests of Markdown in the window, and of pages that are written from it."""
