"""Tests of text read out of files."""
