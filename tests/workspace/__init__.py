"""Tests of the work on a folder."""
