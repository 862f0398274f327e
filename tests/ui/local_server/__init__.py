"""Tests of servers in the window."""
