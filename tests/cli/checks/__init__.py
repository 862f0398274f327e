"""Tests of the self-check in the terminal."""
