"""Tests of translations, and of languages that are written from right to left."""
