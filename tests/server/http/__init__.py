"""Tests of how the server speaks HTTP, and to whom."""
