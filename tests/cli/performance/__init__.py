"""Tests of the bench and the tuning in the terminal."""
