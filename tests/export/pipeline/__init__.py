"""Tests of an export, step by step."""
