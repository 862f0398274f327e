"""Tests of what guesses tokens."""
