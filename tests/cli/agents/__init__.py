"""Tests of the start of other programs with a local model."""
