"""Tests of the sources themselves: names, docstrings, imports, pages."""
