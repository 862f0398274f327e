"""Tests of conversations, their history and their exchange; no window, no engine."""
