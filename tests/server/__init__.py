"""Tests of the local server."""
