"""Tests of the history's files: kept, encrypted, erased, rescued."""
