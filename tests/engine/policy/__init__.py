"""Tests of how many tokens are guessed, on recorded and made-up texts."""
