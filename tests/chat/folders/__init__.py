"""Tests of folders that are indexed and searched."""
