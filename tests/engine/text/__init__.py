"""Tests of tokens, text, templates, tools and grammars."""
