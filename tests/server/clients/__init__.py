"""Tests of the server with real clients and agents."""
